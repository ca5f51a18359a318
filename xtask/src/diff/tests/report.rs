//! The reports for people and programs, for two sample listings.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::{Value, json};

use super::compare;
use crate::diff::{Arguments, examine, load, report};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diff/fixtures").join(name)
}

fn sample() -> Vec<crate::diff::compare::Difference> {
    let document = |name| load(&fixture(name)).expect("could not load the fixture").document;
    compare(&document("ours.json"), &document("theirs.json"))
}

#[test]
fn people_read_it_by_operation() {
    let text = report::text(&sample());
    assert!(text.starts_with("GET /v1/get_result\n"), "snapshots trim leading whitespace: {text}");
    insta::assert_snapshot!(text);
}

#[test]
fn programs_read_json() {
    let text = report::json(&sample()).expect("could not serialize the differences");
    let read: Value = serde_json::from_str(&text).expect("the report is not JSON");
    assert_eq!((&read["breaking"], &read["compatible"]), (&json!(7), &json!(6)));
    assert_eq!(
        read["differences"][0],
        json!({
            "operation": "GET /v1/get_result",
            "place": "200.result.sample",
            "change": "changed",
            "aspect": "required",
            "ours": "true",
            "theirs": "false",
            "mark": "breaking",
        })
    );
}

#[test]
fn the_report_of_no_differences() {
    assert_eq!(report::text(&[]), "No differences.\n");
}

fn report_of(other: PathBuf, json: bool) -> anyhow::Result<(String, ExitCode)> {
    examine(&Arguments { other, json })
}

#[test]
fn the_exit_code_reports_whether_there_are_differences() {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json");
    let (text, code) = report_of(ours, false).expect("could not read the document");
    assert_eq!((text.as_str(), code), ("No differences.\n", ExitCode::SUCCESS));
    let (text, code) = report_of(fixture("theirs.json"), true).expect("could not read it");
    assert!(text.starts_with("{\n  \"breaking\": "), "{text}");
    assert_eq!(code, ExitCode::from(1));
}

#[test]
fn unreadable_documents_are_errors() {
    let message =
        |name: &str| format!("{:#}", report_of(fixture(name), false).expect_err("accepted"));
    let missing = message("nowhere.json");
    assert!(missing.contains("could not read "), "{missing}");
    let broken = message("broken.json");
    let place = "broken.json: expected `,` or `}` at line 3 column 3";
    assert!(broken.ends_with(place), "{broken}");
}
