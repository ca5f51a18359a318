//! The reports for people and programs, for two sample listings.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use semver::Version;
use serde_json::{Value, json};

use super::service;
use crate::diff::{Arguments, examine, load::Listing, load::load};

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diff/fixtures").join(name)
}

/// The arguments for a comparison with this fixture.
pub fn arguments(name: &str) -> Arguments {
    Arguments {
        other: fixture(name),
        prefix: None,
        only_common: false,
        released: None,
        json: false,
    }
}

/// The report for version 0.1.0 of the workspace.
fn report(arguments: &Arguments, ours: &str) -> (String, ExitCode) {
    let listing = Listing { name: ours.to_owned(), ..load(&fixture(ours)).expect("no fixture") };
    let (text, code) =
        examine(arguments, &listing, Version::new(0, 1, 0)).expect("could not compare");
    // The name of a file depends on the machine.
    (text.replace(&fixture("").display().to_string(), ""), code)
}

#[test]
fn people_read_one_line_for_each_change() {
    let (text, code) = report(&arguments("theirs.json"), "ours.json");
    assert_eq!(code, ExitCode::from(1));
    insta::assert_snapshot!(text);
}

#[test]
fn programs_read_json() {
    let (text, _) = report(&Arguments { json: true, ..arguments("theirs.json") }, "ours.json");
    let mut read: Value = serde_json::from_str(&text).expect("the report is not JSON");
    let differences = read["differences"].take();
    let expected = json!({
        "from": "ours.json",
        "to": "theirs.json",
        "breaking": 7,
        "compatible": 6,
        "operations": { "common": 3, "only_from": 1, "only_to": 1 },
        "release": { "from": "0.1.0", "demanded": "0.2.0", "rust": "breaking", "workspace": null },
        "differences": null,
    });
    assert_eq!(read, expected);
    assert_eq!(
        differences[0],
        json!({
            "operations": ["GET /v1/get_result"],
            "place": "200.result.sample",
            "change": "changed",
            "aspect": "required",
            "from": "true",
            "to": "false",
            "mark": "breaking",
            "rust": "breaking",
        })
    );
}

#[test]
fn only_common_operations_are_compared_on_request() {
    let common = Arguments { only_common: true, ..arguments("theirs.json") };
    let (text, _) = report(&common, "ours.json");
    assert!(!text.contains("added: operation") && !text.contains("removed: operation"), "{text}");
    let counts = "3 operations compared; 1 only in ours.json, 1 only in theirs.json\n";
    assert!(text.contains(counts), "{text}");
    let (text, code) = report(&common, "theirs.json");
    let expected = "No differences.\n4 operations compared; 0 only in theirs.json, 0 only in \
                    theirs.json\n";
    assert_eq!((text.as_str(), code), (expected, ExitCode::SUCCESS));
}

#[test]
fn the_exit_code_reports_whether_there_are_differences() {
    let (text, code) = report(&arguments("ours.json"), "ours.json");
    assert_eq!((text.as_str(), code), ("No differences.\n", ExitCode::SUCCESS));
    let (text, code) = report(&Arguments { json: true, ..arguments("ours.json") }, "theirs.json");
    assert!(text.starts_with("{\n  \"from\": "), "{text}");
    assert_eq!(code, ExitCode::from(1));
}

#[test]
fn our_document_does_not_differ_from_itself() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json");
    let ours = load(&path).expect("could not read openapi.json");
    let other = Arguments { other: path, ..arguments("") };
    let (text, code) =
        examine(&other, &ours, Version::new(0, 1, 0)).expect("could not compare openapi.json");
    assert_eq!((text.as_str(), code), ("No differences.\n", ExitCode::SUCCESS));
}

#[test]
fn unreadable_documents_are_errors() {
    let ours = Listing { name: "ours.json".into(), document: service(json!({})) };
    let message = |arguments: &Arguments| {
        let failure = examine(arguments, &ours, Version::new(0, 1, 0)).expect_err("accepted");
        format!("{failure:#}")
    };
    let missing = message(&arguments("nowhere.json"));
    assert!(missing.contains("could not read "), "{missing}");
    let broken = message(&arguments("broken.json"));
    let place = "broken.json: expected `,` or `}` at line 3 column 3";
    assert!(broken.ends_with(place), "{broken}");
    let common = message(&Arguments { only_common: true, ..arguments("theirs.json") });
    assert!(common.contains("have no operation in common: use --prefix"), "{common}");
}

#[test]
fn names_do_not_control_the_terminal() {
    let ours = Listing { name: "a\u{1b}[31m".into(), document: service(json!({})) };
    let (text, _) =
        examine(&arguments("ours.json"), &ours, Version::new(0, 1, 0)).expect("could not compare");
    assert!(text.starts_with("Changes from a?[31m to "), "{text}");
}
