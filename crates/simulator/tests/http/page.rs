//! The files of the page.

use std::{fs, path::Path};

/// The names and keywords in a script, and its punctuation as empty texts.
fn words(script: &str) -> impl Iterator<Item = &str> {
    script.split(|character: char| !character.is_alphanumeric() && character != '_')
}

#[test]
fn every_export_is_imported_somewhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let scripts: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "js"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let mut exports = 0;
    for (index, script) in scripts.iter().enumerate() {
        for export in script.lines().filter_map(|line| line.strip_prefix("export ")) {
            let keywords = ["async", "function", "const", "let", "class"];
            let name = words(export).find(|word| !keywords.contains(word)).unwrap();
            let others = scripts.iter().enumerate().filter(|(other, _)| *other != index);
            let is_used =
                others.into_iter().any(|(_, other)| words(other).any(|word| word == name));
            assert!(is_used, "`{name}` is exported, and no other file uses it");
            exports += 1;
        }
    }
    assert!(exports > 20, "{exports}");
}
