//! Settings in TOML.

use imagekiln_simulator::Config;

#[test]
fn errors_contain_the_line_but_not_the_value() {
    for (text, line, part) in [
        ("seed = 1\n\nkeys = []", 3, "unknown field `keys`"),
        ("seed = 1\napi_keys = \"se\\\"cret\"", 2, "a string, expected a sequence"),
        ("ready_after = -1", 1, "is not a time in seconds"),
        ("ready_after = 1e300", 1, "is not a time in seconds"),
        ("ready_after = nan", 1, "is not a time in seconds"),
        ("[prices]\nsubmission = 0.001", 2, "two decimal places"),
        ("[prices]\nsubmission = -3", 2, "two decimal places"),
        ("[prices]\nsubmission = 10000.123", 2, "two decimal places"),
        ("seed = ", 1, "string values"),
    ] {
        let error = Config::from_toml(text).err().unwrap();
        assert_eq!(error.line, line, "{error}");
        assert!(error.problem.contains(part), "{text}: {error}");
        assert!(!error.to_string().contains("cret"), "{error}");
    }
}

#[test]
fn debug_shows_no_secrets() {
    let text = r"
        api_keys = ['hidden']
        seed = 987654321
        [[organizations]]
        name = 'Acme'
        projects = [{ name = 'Web', keys = [{ name = 'ci', key = 'hidden' }] }]
    ";
    let shown = format!("{:?}", Config::from_toml(text).unwrap());
    assert!(shown.contains("Acme") && shown.contains("ci"), "{shown}");
    assert!(!shown.contains("hidden") && !shown.contains("987654321"), "{shown}");
}
