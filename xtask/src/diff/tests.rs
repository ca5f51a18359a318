//! Tests of the comparison with small services.

mod access;
mod combination;
mod group;
mod load;
mod malformed;
mod notation;
mod notation_3_1;
mod prefix;
mod properties;
mod provider;
mod release;
mod report;
mod rule;
mod rust_api;

use serde_json::{Value, json};

use super::{
    compare::Comparison,
    difference::{Change, Difference, Mark},
    differences,
    load::Listing,
    prefix::Prefix,
};

/// The differences between two valid documents.
fn compare(from: &Value, to: &Value) -> Vec<Difference> {
    try_compare(from, to).expect("could not read the documents")
}

fn try_compare(from: &Value, to: &Value) -> anyhow::Result<Vec<Difference>> {
    Ok(comparison(from, to, None, false)?.differences)
}

fn comparison(
    from: &Value,
    to: &Value,
    prefix: Option<&Prefix>,
    only_common: bool,
) -> anyhow::Result<Comparison> {
    let listing =
        |name: &str, document: &Value| Listing { name: name.into(), document: document.clone() };
    differences(&listing("ours.json", from), &listing("theirs.json", to), prefix, only_common)
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
    differences.iter().map(|difference| (difference.finding.mark, line(difference))).collect()
}

fn line(difference: &Difference) -> String {
    let finding = &difference.finding;
    let change = match &finding.change {
        Change::Added { what } => format!("added {what}"),
        Change::Removed { what } => format!("removed {what}"),
        Change::Changed { aspect, from, to } => format!("{aspect} {from} -> {to}"),
    };
    match &finding.place {
        Some(place) => format!("{place}: {change}"),
        None => change,
    }
}
