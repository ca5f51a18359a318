//! Compares `openapi.json` with independently transcribed lists of the interface.
//!
//! `fields.tsv`, `operations.tsv` and `responses.tsv` were copied by hand from the tables of the
//! interface listing. The comparison works in both directions, so it finds forgotten fields and
//! invented ones. If the two disagree, read the interface again before changing either.

mod conformity;
mod document;
mod facts;
mod listing;
mod sensitivity;

use serde_json::Value;

use self::facts::differences;

const DOCUMENT: &str = include_str!("../../openapi.json");

fn openapi() -> Value {
    serde_json::from_str(DOCUMENT).expect("openapi.json is JSON")
}

/// Returns every difference between the lists and `document`, one per line.
fn compare(document: &Value) -> Vec<String> {
    [
        differences(&listing::operations(), &document::operations(document)),
        differences(&listing::fields(), &document::request_fields(document)),
        differences(&listing::responses(), &document::response_fields(document)),
    ]
    .concat()
}

#[test]
fn the_document_matches_the_interface() {
    let found = compare(&openapi());
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}
