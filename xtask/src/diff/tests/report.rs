//! What people and programs are shown, on two sample listings.

use super::compare;
use crate::diff::{Arguments, examine, load, report};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diff/fixtures").join(name)
}

fn sample() -> Vec<crate::diff::compare::Difference> {
    let document = |name| load(&fixture(name)).expect("the fixture is there").document;
    compare(&document("ours.json"), &document("theirs.json"))
}

#[test]
fn people_read_it_by_operation() {
    let text = report::text(&sample());
    assert!(text.starts_with("GET /v1/get_result\n"), "snapshots trim what comes before: {text}");
    insta::assert_snapshot!(text);
}

#[test]
fn programs_read_json() {
    let text = report::json(&sample()).expect("differences are JSON");
    let read: Value = serde_json::from_str(&text).expect("it is JSON");
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
fn no_differences_are_told_too() {
    assert_eq!(report::text(&[]), "No differences.\n");
}

fn report_of(other: PathBuf, json: bool) -> anyhow::Result<(String, ExitCode)> {
    examine(&Arguments { other, json })
}

#[test]
fn the_exit_code_tells_whether_there_are_differences() {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json");
    let (text, code) = report_of(ours, false).expect("readable");
    assert_eq!((text.as_str(), code), ("No differences.\n", ExitCode::SUCCESS));
    let (text, code) = report_of(fixture("theirs.json"), true).expect("readable");
    assert!(text.starts_with("{\n  \"breaking\": "), "{text}");
    assert_eq!(code, ExitCode::from(1));
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_where() {
    let complaint =
        |name: &str| format!("{:#}", report_of(fixture(name), false).expect_err("unreadable"));
    let missing = complaint("nowhere.json");
    assert!(missing.contains("nowhere.json cannot be read: "), "{missing}");
    let broken = complaint("broken.json");
    let place = "broken.json is not JSON: expected `,` or `}` at line 3 column 3";
    assert!(broken.ends_with(place), "{broken}");
}
