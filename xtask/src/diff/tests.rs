//! Small services, written for the test at hand, and what the comparison says of them.

mod combination;
mod laws;
mod notation;
mod odd;
mod report;
mod rule;

use super::compare::{Change, Difference, Mark};
use super::{Listing, differences};
use serde_json::{Value, json};

/// The differences between two documents that both can be read.
fn compare(ours: &Value, theirs: &Value) -> Vec<Difference> {
    try_compare(ours, theirs).expect("both documents can be read")
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

/// A service of one operation that takes and answers these schemas.
fn exchange(request: &Value, answer: &Value) -> Value {
    let content = |schema: &Value| json!({ "application/json": { "schema": schema } });
    service(json!({ "/v1/a": { "post": {
        "requestBody": { "required": true, "content": content(request) },
        "responses": { "200": { "description": "d", "content": content(answer) } },
    } } }))
}

/// The mark and the line of each difference between two schemas of a request body.
fn in_request(ours: &Value, theirs: &Value) -> Vec<(Mark, String)> {
    told(&compare(&exchange(ours, &json!({})), &exchange(theirs, &json!({}))))
}

/// The same for two schemas of an answer.
fn in_answer(ours: &Value, theirs: &Value) -> Vec<(Mark, String)> {
    told(&compare(&exchange(&json!({}), ours), &exchange(&json!({}), theirs)))
}

fn told(differences: &[Difference]) -> Vec<(Mark, String)> {
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
