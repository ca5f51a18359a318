//! Checks every property for the inputs that are kept in `fuzz/corpus`.

use std::{
    collections::BTreeSet,
    fs,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
};

use imagekiln_fuzz_properties::{TARGETS, Target};

/// The maximum size of an input in bytes.
const LARGEST: u64 = 64 * 1024;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names in a folder, without extensions.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(folder)).expect("the folder exists");
    let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    entries.map(|entry| stem(entry.expect("an entry").path())).collect()
}

fn inputs(target: &Target) -> Vec<PathBuf> {
    let folder = fuzz().join("corpus").join(target.name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_target_has_a_program_and_inputs() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len());
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("corpus"), targets);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
    for target in &TARGETS {
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
        assert!(!inputs(target).is_empty(), "{} has no inputs", target.name);
    }
}

#[test]
fn every_input_has_the_properties() {
    let mut failed = Vec::new();
    for target in &TARGETS {
        for path in inputs(target) {
            let input = fs::read(&path).expect("an input");
            assert!(input.len() as u64 <= LARGEST, "{} is too large", path.display());
            if panic::catch_unwind(AssertUnwindSafe(|| (target.check)(&input))).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "these inputs violate the properties: {failed:#?}");
}
