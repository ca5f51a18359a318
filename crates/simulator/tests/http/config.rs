//! Settings in TOML.

use std::time::Duration;

use imagekiln_simulator::{Config, Simulator, StartError, WebhookScheme};

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

#[tokio::test]
async fn invalid_settings_are_named() {
    let many_retries = format!("webhooks.retry_after = {:?}", [1; 21]);
    for (toml, setting) in [
        ("api_keys = []", "api_keys"),
        ("api_keys = ['a b']", "api_keys"),
        ("model_prefix = 'a/b'", "model_prefix"),
        ("in_progress = []", "in_progress"),
        ("in_progress = ['Ready']", "in_progress"),
        ("in_progress = ['']", "in_progress"),
        ("client_timeout = 0", "client_timeout"),
        ("max_output_side = 20000", "max_output_side"),
        ("not_found_status = 410", "not_found_status"),
        ("pixels_per_megapixel = 1024", "pixels_per_megapixel"),
        ("ready_after_spread = 1", "ready_after_spread"),
        ("speed = -1", "speed"),
        ("speed = nan", "speed"),
        ("speed = 1e9", "speed"),
        ("faults = ['html-502@poll:0.1', 'html-502@home']", "faults"),
        ("cors_origins = ['localhost:3000']", "cors_origins"),
        ("cors_origins = ['http://localhost:3000/']", "cors_origins"),
        ("cors_origins = ['null']", "cors_origins"),
        ("cors_origins = ['']", "cors_origins"),
        ("control_listen = '0.0.0.0:0'", "control_listen"),
        ("control_listen = '0.0.0.0:0'\nallow_remote = true", "control_listen"),
        ("control_token = 'short'", "control_token"),
        ("control_token = ''", "control_token"),
        ("control_token = 'a token of 24 characters'", "control_token"),
        ("control_token = 'a;token;of;24;characters'", "control_token"),
        ("webhooks.header = ''", "webhooks.header"),
        ("webhooks.header = 'a b'", "webhooks.header"),
        ("webhooks.header = 'Content-Length'", "webhooks.header"),
        ("webhooks.timeout = 0", "webhooks.timeout"),
        (&many_retries, "webhooks.retry_after"),
        ("webhooks.max_kept = 0", "webhooks.max_kept"),
    ] {
        let config = Config::from_toml(toml).unwrap_or_else(|error| panic!("{toml}: {error}"));
        match Simulator::start(config).await {
            Err(StartError::Setting { setting: found, .. }) => assert_eq!(found, setting, "{toml}"),
            other => panic!("{toml}: {other:?}"),
        }
    }
}

#[test]
fn webhooks_are_configured_in_a_table() {
    let text = "[webhooks]\nscheme = 'secret'\nretry_after = [1, 0.5]\ntimeout = 3";
    let webhooks = Config::from_toml(text).unwrap().webhooks;
    assert_eq!(webhooks.scheme, WebhookScheme::Secret);
    assert_eq!(webhooks.retry_after, [1.0, 0.5].map(Duration::from_secs_f64));
    assert!(Config::from_toml("[webhooks]\nretry_after = [-1]").is_err());
}

#[test]
fn debug_shows_no_secrets() {
    let text = r"
        api_keys = ['hidden']
        control_token = 'a-hidden-token-of-32-characters.'
        seed = 987654321
        [[organizations]]
        name = 'Acme'
        projects = [{ name = 'Web', keys = [{ name = 'ci', key = 'hidden' }] }]
    ";
    let shown = format!("{:?}", Config::from_toml(text).unwrap());
    assert!(shown.contains("Acme") && shown.contains("ci"), "{shown}");
    assert!(!shown.contains("hidden") && !shown.contains("987654321"), "{shown}");
}
