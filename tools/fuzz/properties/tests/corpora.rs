//! Checks every property for the inputs that are kept in `tools/fuzz/corpus.tar`.

use std::{
    collections::BTreeSet,
    fs,
    panic::{self, AssertUnwindSafe},
    path::Path,
};

use imagekiln_fuzz_properties::TARGETS;
use imagekiln_testbed::corpus;

/// The maximum size of an input in bytes.
const LARGEST: usize = 64 * 1024;

#[test]
fn every_target_has_a_program_and_inputs() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len());
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let programs = fs::read_dir(fuzz.join("fuzz_targets")).expect("the folder exists");
    let name = |program: fs::DirEntry| {
        program.path().file_stem().expect("a name").to_string_lossy().into_owned()
    };
    let programs: BTreeSet<_> = programs.map(|program| name(program.expect("an entry"))).collect();
    assert_eq!(programs, targets);
    let folder = |name: &String| name.split('/').next().unwrap_or_default().to_owned();
    assert_eq!(corpus().keys().map(folder).collect::<BTreeSet<_>>(), targets);
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("a manifest");
    for target in &TARGETS {
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
    }
}

#[test]
fn every_input_has_the_properties() {
    let mut failed = Vec::new();
    for (name, input) in corpus() {
        assert!(input.len() <= LARGEST, "{name} is too large");
        let is_of =
            |folder: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let target = TARGETS.iter().find(|target| is_of(target.name)).expect("a target");
        if panic::catch_unwind(AssertUnwindSafe(|| (target.check)(&input))).is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "these inputs violate the properties: {failed:#?}");
}
