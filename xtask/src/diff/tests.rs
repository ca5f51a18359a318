//! Tests of the comparison with small services.

mod load;
mod mutations;
mod notations;
mod operations;
mod properties;
mod report;
mod schemas;
mod unreadable;

use serde_json::{Value, json};

use super::{
    compare::{Comparison, Difference},
    differences,
    load::Listing,
    prefix::Prefix,
    report as reports,
};

/// The differences between two valid documents.
fn compare(from: &Value, to: &Value) -> Vec<Difference> {
    comparison(from, to, None).expect("could not read the documents").differences
}

fn comparison(from: &Value, to: &Value, prefix: Option<&Prefix>) -> anyhow::Result<Comparison> {
    let listing =
        |name: &str, document: &Value| Listing { name: name.into(), document: document.clone() };
    differences(&listing("ours.json", from), &listing("theirs.json", to), prefix, false)
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

/// The differences in both directions as text, each with its mark.
fn there_and_back(from: &Value, to: &Value) -> String {
    let mut text = String::new();
    for (arrow, from, to) in [("->", from, to), ("<-", to, from)] {
        for found in compare(from, to) {
            let mark = if found.is_breaking { "Breaking" } else { "Compatible" };
            text += &format!("  {arrow} {mark:<10}  {}\n", reports::line(&[&found], &[]));
        }
    }
    text
}
