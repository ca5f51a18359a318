//! Compares `docs/testing.md` with the files that it shows.

use std::{fs, path::Path};

#[test]
fn the_page_shows_the_files_that_are_tested() {
    let page = imagekiln_testbed::page("docs/testing.md");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/testing");
    for file in [
        "pytest/test_client.py",
        "jest/jest.config.json",
        "jest/client.test.js",
        "jest/vitest.config.mjs",
    ] {
        let text = fs::read_to_string(examples.join(file)).unwrap();
        assert!(page.contains(&format!("\n{text}```\n")), "{file} differs");
    }
}
