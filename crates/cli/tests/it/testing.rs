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

/// The schemas of these files do not say whether a path exists. The workflow checks this repository
/// out into the folder `imagekiln`.
#[test]
fn the_paths_for_other_services_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workflow = imagekiln_testbed::page("examples/testing/github/test.yaml");
    let compose = imagekiln_testbed::page("examples/testing/compose/compose.yaml");
    let words = |text: &'static str| text.split([' ', '\n', '\'', ':']);
    let in_clone = words(workflow).filter_map(|word| word.split_once("imagekiln/"));
    let in_clone = in_clone.map(|(_, path)| root.join(path));
    let beside = words(compose).filter(|word| word.starts_with("../"));
    let beside = beside.map(|path| root.join("examples/testing/compose").join(path));
    let paths: Vec<_> = in_clone.chain(beside).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
    for path in paths {
        assert!(path.exists(), "there is no {}", path.display());
    }
}
