//! Malformed documents: an error with a location, or a sensible interpretation, but never a panic.

use serde_json::{Map, Value, json};

use super::{comparison, exchange, service, there_and_back};

fn error(document: &Value) -> String {
    let error = comparison(&service(json!({})), document, None).expect_err("it was accepted");
    format!("{error:#}")
}

#[test]
fn a_fault_is_reported_with_its_location() {
    let documents = [
        json!([]),
        json!({}),
        json!({ "openapi": 3 }),
        json!({ "openapi": "2.0" }),
        json!({ "openapi": "3.0.0" }),
        service(json!({ "/v1/{a}": { "get": {} }, "/v1/{b}": { "get": {} } })),
    ];
    let operations = [
        json!({ "parameters": {} }),
        json!({ "parameters": [{ "in": "query" }] }),
        json!({ "security": [{ "Key": [] }] }),
        json!({ "security": {} }),
        json!({ "servers": [{}] }),
    ];
    let operations = operations.map(|operation| service(json!({ "/v1/a": { "post": operation } })));
    let schemas = [
        json!(5),
        json!({ "minimum": "1" }),
        json!({ "type": null }),
        json!({ "required": true }),
        json!({ "properties": { "f": [] } }),
        json!({ "$ref": "#/nowhere" }),
        json!({ "$ref": "other.json#/A" }),
    ];
    let schemas = schemas.map(|schema| exchange(&schema, &json!({})));
    let documents = documents.iter().chain(&operations).chain(&schemas);
    insta::assert_snapshot!(documents.map(error).collect::<Vec<_>>().join("\n"));
}

/// A service with these components, of which the first is the schema of a request.
fn with_components(components: impl IntoIterator<Item = (String, Value)>) -> Value {
    let components: Map<_, _> = components.into_iter().collect();
    let first = components.keys().next().expect("a component");
    let reference = json!({ "$ref": format!("#/components/schemas/{first}") });
    let mut document = exchange(&reference, &json!({}));
    document["components"]["schemas"] = Value::Object(components);
    document
}

#[test]
fn a_recursive_schema_is_expanded_once() {
    let tree = |kind: &str| {
        let node = json!({ "$ref": "#/components/schemas/Node" });
        let node = json!({
            "properties": {
                "name": { "type": kind },
                "next": node,
                "all": { "type": "array", "items": node },
            },
            "anyOf": [node, { "type": "object" }],
        });
        with_components([("Node".to_owned(), node)])
    };
    assert_eq!(there_and_back(&tree("string"), &tree("string")), "");
    let text = there_and_back(&tree("string"), &tree("integer"));
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("body.name: type: string -> integer"), "{text}");
}

#[test]
fn references_are_limited() {
    let to = |level: usize| json!({ "$ref": format!("#/components/schemas/S{level}") });
    let chain = (0..200).map(|level| (format!("S{level}"), to((level + 1) % 200)));
    let message = error(&with_components(chain));
    assert!(message.ends_with("this schema contains itself"), "{message}");
    let twice = |level| json!({ "properties": { "a": to(level), "b": to(level) } });
    let tree = (0..20).map(|level| (format!("S{level}"), twice((level + 1) % 20)));
    let message = error(&with_components(tree));
    assert!(message.ends_with("more than 200000 schemas, with all `$ref`s followed"), "{message}");
    let mut circle = service(json!({ "/v1/a": { "$ref": "#/components/pathItems/A" } }));
    circle["components"]["pathItems"]["A"] = json!({ "$ref": "#/components/pathItems/A" });
    assert_eq!(error(&circle), "theirs.json: /paths/~1v1~1a: this `$ref` is circular");
}
