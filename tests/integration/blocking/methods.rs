//! The blocking client has each method of the async one that waits, or that returns something with
//! such methods.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The types that both have.
const TYPES: [&str; 6] = ["Client", "Task", "Update", "Updates", "Picture", "PictureStream"];

/// The public methods of the types.
#[derive(Default)]
struct Methods {
    all: BTreeMap<String, BTreeSet<String>>,
    /// Those that wait, or return one of the types.
    waiting: BTreeMap<String, BTreeSet<String>>,
}

impl Methods {
    /// Adds those in all files in a directory except `blocking`.
    fn add_directory(&mut self, directory: &Path) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "blocking") {
                    self.add_directory(&path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.add_file(&fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// Adds those in a formatted file, except hidden ones.
    fn add_file(&mut self, source: &str) {
        let (mut current, mut is_hidden) = (None, false);
        let mut rest = source;
        while let Some((line, after)) = rest.split_once('\n') {
            if let Some(header) = line.strip_prefix("impl ") {
                let name = header.trim_end_matches(" {");
                current = TYPES.contains(&name).then(|| name.to_owned());
            } else if line == "}" {
                current = None;
            }
            let signature = rest.split('{').next().unwrap_or_default();
            rest = after;
            let was_hidden = std::mem::replace(&mut is_hidden, line == "    #[doc(hidden)]");
            let Some(owner) = current.as_ref().filter(|_| !was_hidden) else { continue };
            let Some((start, function)) = line.split_once("fn ") else { continue };
            if !["    pub ", "    pub async "].contains(&start) {
                continue;
            }
            let end = function.find(['(', '<']).unwrap();
            let add = |found: &mut BTreeMap<String, BTreeSet<String>>| {
                found.entry(owner.clone()).or_default().insert(function[..end].to_owned());
            };
            add(&mut self.all);
            let returned = signature.rsplit_once("->").unwrap_or_default().1;
            let mut words = returned.split(|c: char| !c.is_alphanumeric());
            let has_waiting = words.any(|word| word == "Self" || TYPES.contains(&word));
            if start.contains("async") || has_waiting {
                add(&mut self.waiting);
            }
        }
    }
}

#[test]
fn both_clients_have_the_same_methods() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut of_async, mut of_blocking) = (Methods::default(), Methods::default());
    of_async.add_directory(&source);
    of_blocking.add_directory(&source.join("blocking"));

    for name in TYPES {
        let (all, blocking) = (&of_async.all[name], &of_blocking.all[name]);
        let waiting = of_async.waiting.get(name).into_iter().flatten();
        let missing: Vec<_> = waiting.filter(|method| !blocking.contains(*method)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
        assert!(blocking.is_subset(all), "{name}: {blocking:?} of {all:?}");
    }
    let client = &of_async.waiting["Client"];
    assert!(client.contains("submit") && client.len() > 12, "{client:?}");
}
