//! Tests of the comparison with small services.

mod combination;
mod malformed;
mod notation;
mod properties;
mod report;
mod rule;

use serde_json::{Value, json};

use super::{
    Listing,
    compare::{Change, Difference, Mark},
    differences,
};

/// The differences between two valid documents.
fn compare(ours: &Value, theirs: &Value) -> Vec<Difference> {
    try_compare(ours, theirs).expect("could not read the documents")
}

fn try_compare(ours: &Value, theirs: &Value) -> anyhow::Result<Vec<Difference>> {
    let listing =
        |name: &str, document: &Value| Listing { name: name.into(), document: document.clone() };
    differences(&listing("ours.json", ours), &listing("theirs.json", theirs))
}

/// A document with these paths.
fn service(paths: Value) -> Value {
    json!({ "openapi": "3.1.0", "info": { "title": "t", "version": "1" }, "paths": paths })
}

/// A service with one operation that has these request and response schemas.
fn exchange(request: &Value, response: &Value) -> Value {
    let content = |schema: &Value| json!({ "application/json": { "schema": schema } });
    service(json!({ "/v1/a": { "post": {
        "requestBody": { "required": true, "content": content(request) },
        "responses": { "200": { "description": "d", "content": content(response) } },
    } } }))
}

/// The mark and a description of each difference between two schemas of a request body.
fn in_request(ours: &Value, theirs: &Value) -> Vec<(Mark, String)> {
    described(&compare(&exchange(ours, &json!({})), &exchange(theirs, &json!({}))))
}

/// The same for two schemas of a response.
fn in_response(ours: &Value, theirs: &Value) -> Vec<(Mark, String)> {
    described(&compare(&exchange(&json!({}), ours), &exchange(&json!({}), theirs)))
}

fn described(differences: &[Difference]) -> Vec<(Mark, String)> {
    let line = |difference: &Difference| {
        let change = match &difference.change {
            Change::Added { what } => format!("added {what}"),
            Change::Removed { what } => format!("removed {what}"),
            Change::Changed { aspect, ours, theirs } => format!("{aspect} {ours} -> {theirs}"),
        };
        match &difference.place {
            Some(place) => format!("{place}: {change}"),
            None => change,
        }
    };
    differences.iter().map(|difference| (difference.mark, line(difference))).collect()
}
