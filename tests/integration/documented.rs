//! Tests that `docs/proof.md` names the modules with attacks, and no others.

use std::{collections::BTreeSet, fs, path::Path};

/// The folders whose modules must be on the page.
const COMPLETE: [&str; 3] = ["hostile", "journal", "webhooks"];

/// Other modules of tests that the page names.
const SINGLE: [&str; 5] = ["drift", "middleware", "recordings", "stored", "transport"];

#[test]
fn the_page_of_promises_names_every_module_with_attacks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = named(&fs::read_to_string(root.join("docs/proof.md")).unwrap());
    for module in &named {
        let path = module.strip_prefix("kiln/").map_or_else(
            || format!("tests/integration/{module}.rs"),
            |module| format!("crates/cli/tests/it/{module}.rs"),
        );
        assert!(has_tests(&root.join(&path)), "{path} has no tests");
    }
    let mut modules = BTreeSet::new();
    for folder in COMPLETE {
        for entry in fs::read_dir(root.join("tests/integration").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if has_tests(&path) {
                modules.insert(format!("{folder}/{}", path.file_stem().unwrap().display()));
            }
        }
    }
    let missing: Vec<_> = modules.difference(&named).collect();
    assert!(missing.is_empty(), "the page does not name {missing:?}");
    assert!(modules.len() > 40, "{modules:?}");
}

/// The modules in the tables and the text, such as `hostile/slots`.
fn named(page: &str) -> BTreeSet<String> {
    let is_module = |code: &&str| match code.split_once('/') {
        Some((folder, module)) => {
            !module.is_empty() && (folder == "kiln" || COMPLETE.contains(&folder))
        }
        None => SINGLE.contains(code),
    };
    page.split('`').skip(1).step_by(2).filter(is_module).map(str::to_owned).collect()
}

fn has_tests(file: &Path) -> bool {
    let source = fs::read_to_string(file).unwrap_or_default();
    ["#[test]", "#[tokio::test", "proptest!"].iter().any(|start| source.contains(start))
}
