//! `openapi.json` against lists of the interface that were transcribed without looking at it.
//!
//! `fields.tsv`, `operations.tsv` and `responses.tsv` were copied by hand from the tables of the
//! interface listing. The walk compares them with the document in both directions, so neither a
//! field that was forgotten nor one that was invented passes. Where the two disagree, read the
//! interface again before changing either.

mod conformity;
mod document;
mod facts;
mod listing;
mod teeth;

use facts::differences;
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../openapi.json");

fn openapi() -> Value {
    serde_json::from_str(DOCUMENT).expect("openapi.json is JSON")
}

/// Every difference between the lists and `document`, one line each.
fn walk(document: &Value) -> Vec<String> {
    [
        differences(&listing::operations(), &document::operations(document)),
        differences(&listing::fields(), &document::request_fields(document)),
        differences(&listing::responses(), &document::response_fields(document)),
    ]
    .concat()
}

#[test]
fn the_document_says_what_the_interface_shows_and_nothing_else() {
    let found = walk(&openapi());
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}
