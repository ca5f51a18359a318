//! Malformed documents: an error with a location, or a sensible interpretation, but never a panic.

use serde_json::{Map, Value, json};

use super::{comparison, exchange, service, there_and_back};

#[track_caller]
fn assert_unreadable(document: &Value, expected: &str) {
    let error = comparison(&service(json!({})), document, None).expect_err("it was accepted");
    assert_eq!(format!("{error:#}"), format!("theirs.json: {expected}"));
}

#[test]
fn a_fault_is_reported_with_its_location() {
    for (document, expected) in [
        (json!([]), "expected an object, found an array"),
        (json!({}), "not an OpenAPI 3 document: `openapi` is missing"),
        (json!({ "openapi": 3 }), "/openapi: expected a string, found a number"),
        (json!({ "openapi": "2.0" }), "/openapi: expected OpenAPI 3, found \"2.0\""),
        (json!({ "openapi": "3.0.0" }), "`paths` is missing"),
        (
            service(json!({ "/v1/{a}": { "get": {} }, "/v1/{b}": { "get": {} } })),
            "/paths/~1v1~1{b}: GET /v1/{a} is defined more than once",
        ),
    ] {
        assert_unreadable(&document, expected);
    }
    for (operation, expected) in [
        (json!({ "parameters": {} }), "/parameters: expected an array, found an object"),
        (json!({ "parameters": [{ "in": "query" }] }), "/parameters/0: `name` is missing"),
        (
            json!({ "security": [{ "Key": [] }] }),
            "/security/0: `Key` is not in `components.securitySchemes`",
        ),
        (json!({ "security": {} }), "/security: expected an array, found an object"),
        (json!({ "servers": [{ "url": "https://{a}" }] }), "/servers/0: `variables` is missing"),
    ] {
        let document = service(json!({ "/v1/a": { "post": operation } }));
        assert_unreadable(&document, &format!("/paths/~1v1~1a/post{expected}"));
    }
    for (schema, expected) in [
        (json!(5), ": expected an object, found a number"),
        (json!({ "minimum": "1" }), "/minimum: expected a number, found a string"),
        (json!({ "type": null }), "/type: expected a string, found null"),
        (json!({ "required": true }), "/required: expected an array, found true or false"),
        (json!({ "properties": { "f": [] } }), "/properties/f: expected an object, found an array"),
        (json!({ "$ref": "#/nowhere" }), "/$ref: `#/nowhere` is not in this document"),
        (json!({ "$ref": "other.json#/A" }), "/$ref: `other.json#/A` is not in this document"),
    ] {
        let place = "/paths/~1v1~1a/post/requestBody/content/application~1json/schema";
        assert_unreadable(&exchange(&schema, &json!({})), &format!("{place}{expected}"));
    }
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
    assert!(text.contains("body.name: type string -> integer"), "{text}");
}

#[test]
fn references_are_limited() {
    let to = |level: usize| json!({ "$ref": format!("#/components/schemas/S{level}") });
    let error = |document: Value| {
        let error = comparison(&document, &document, None).expect_err("it was accepted");
        format!("{error:#}")
    };
    let chain = (0..200).map(|level| (format!("S{level}"), to((level + 1) % 200)));
    let message = error(with_components(chain));
    assert!(message.ends_with("schemas are nested deeper than 128"), "{message}");
    let twice = |level| json!({ "properties": { "a": to(level), "b": to(level) } });
    let tree = (0..40).map(|level| (format!("S{level}"), twice((level + 1) % 40)));
    let message = error(with_components(tree));
    assert!(message.ends_with("more than 200000 schemas, with all `$ref`s followed"), "{message}");
    let mut circle = service(json!({ "/v1/a": { "$ref": "#/components/pathItems/A" } }));
    circle["components"]["pathItems"]["A"] = json!({ "$ref": "#/components/pathItems/A" });
    assert_unreadable(&circle, "/paths/~1v1~1a: this `$ref` is circular");
}
