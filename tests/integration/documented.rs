//! Tests that every test named in `docs/security.md` exists.

use std::{fs, path::Path};

/// The directories of the tests.
const GROUPS: [&str; 6] = [
    "tests/integration",
    "tests/integration/hostile",
    "tests/integration/journal",
    "tests/integration/webhooks",
    "cli/tests/it",
    "cli/tests/it/terminal",
];

#[test]
fn every_test_named_on_the_security_page_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let names: Vec<(&str, &str)> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| !code.contains('('))
        .filter_map(|code| code.split_once("::"))
        .collect();
    assert!(names.len() > 60, "found {} names", names.len());
    for (module, test) in names {
        let files = GROUPS.map(|group| root.join(format!("{group}/{module}.rs")));
        // The SDK and `kiln` have modules of the same name.
        let source: String =
            files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
        assert!(source.contains(&format!("fn {test}(")), "{module} has no test {test}");
    }
}
