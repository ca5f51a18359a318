//! Both clients have the same methods.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The types that both have.
const TYPES: [&str; 6] = ["Client", "Task", "Update", "Updates", "Picture", "PictureStream"];

/// Adds the public methods of the types to `found`, from all files in a directory except
/// `blocking`.
fn methods_in(directory: &Path, found: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "blocking") {
                methods_in(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            read_methods(&fs::read_to_string(&path).unwrap(), found);
        }
    }
}

/// Adds the public methods in a formatted file.
fn read_methods(source: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut current = None;
    for line in source.lines() {
        if let Some(header) = line.strip_prefix("impl ") {
            let name = header.trim_end_matches(" {");
            current = TYPES.contains(&name).then(|| name.to_owned());
        } else if line == "}" {
            current = None;
        }
        let Some(owner) = &current else { continue };
        let function =
            ["    pub fn ", "    pub async fn "].iter().find_map(|start| line.strip_prefix(start));
        if let Some(function) = function {
            let end = function.find(['(', '<']).unwrap();
            found.entry(owner.clone()).or_default().insert(function[..end].to_owned());
        }
    }
}

#[test]
fn both_clients_have_the_same_methods() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut of_async, mut of_blocking) = (BTreeMap::new(), BTreeMap::new());
    methods_in(&source, &mut of_async);
    methods_in(&source.join("blocking"), &mut of_blocking);

    assert_eq!(of_blocking, of_async);
    for name in TYPES {
        assert!(of_async.get(name).is_some_and(|methods| !methods.is_empty()), "{name}");
    }
    assert!(of_async["Client"].contains("submit") && of_async["Client"].len() > 12);
}
