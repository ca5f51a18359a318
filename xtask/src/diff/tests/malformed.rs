//! Malformed documents: an error with a location, or a sensible interpretation, but never a panic.

use serde_json::{Value, json};

use super::{compare, described, exchange, in_request, service, try_compare};

#[track_caller]
fn assert_unreadable(document: &Value, expected: &str) {
    let error = try_compare(&service(json!({})), document).expect_err("the document was accepted");
    assert_eq!(format!("{error:#}"), format!("theirs.json: {expected}"));
}

#[test]
fn other_documents_are_rejected() {
    assert_unreadable(&json!([]), "expected an object, found an array");
    assert_unreadable(&json!({}), "not an OpenAPI 3 document: `openapi` is missing");
    assert_unreadable(&json!({ "openapi": 3 }), "/openapi: expected a string, found a number");
    assert_unreadable(&json!({ "openapi": "2.0" }), "/openapi: expected OpenAPI 3, found \"2.0\"");
    assert_unreadable(&json!({ "openapi": "3.0.0" }), "`paths` is missing");
}

#[test]
fn values_of_the_wrong_type_are_reported_with_their_location() {
    assert_unreadable(
        &service(json!({ "/v1/a": { "post": { "parameters": {} } } })),
        "/paths/~1v1~1a/post/parameters: expected an array, found an object",
    );
    assert_unreadable(
        &service(json!({ "/v1/a": { "get": { "parameters": [{ "in": "query" }] } } })),
        "/paths/~1v1~1a/get/parameters/0: `name` is missing",
    );
    let place = "/paths/~1v1~1a/post/requestBody/content/application~1json/schema";
    let cases = [
        (json!(5), "", "expected an object, found a number"),
        (json!({ "minimum": "1" }), "/minimum", "expected a number, found a string"),
        (json!({ "type": null }), "/type", "expected a string, found null"),
        (json!({ "required": true }), "/required", "expected an array, found true or false"),
        (
            json!({ "properties": { "f": [] } }),
            "/properties/f",
            "expected an object, found an array",
        ),
        (json!({ "$ref": "#/nowhere" }), "/$ref", "`#/nowhere` is not in this document"),
        (json!({ "$ref": "other.json#/A" }), "/$ref", "`other.json#/A` is not in this document"),
    ];
    for (schema, at, message) in cases {
        assert_unreadable(&exchange(&schema, &json!({})), &format!("{place}{at}: {message}"));
    }
}

#[test]
fn a_path_is_defined_only_once() {
    let twice = service(json!({ "/v1/{a}": { "get": {} }, "/v1/{b}": { "get": {} } }));
    assert_unreadable(&twice, "/paths/~1v1~1{b}: GET /v1/{a} is defined more than once");
}

#[test]
fn circular_references_are_rejected() {
    let mut circle = service(json!({ "/v1/a": { "$ref": "#/components/pathItems/A" } }));
    circle["components"]["pathItems"] = json!({
        "A": { "$ref": "#/components/pathItems/B" },
        "B": { "$ref": "#/components/pathItems/A" },
    });
    assert_unreadable(&circle, "/paths/~1v1~1a: this `$ref` is circular");
}

#[test]
fn a_recursive_schema_is_expanded_once() {
    let tree = |kind: &str| {
        let node = json!({ "$ref": "#/components/schemas/Node" });
        let mut document = exchange(&node, &node);
        document["components"]["schemas"]["Node"] = json!({
            "type": "object",
            "properties": {
                "name": { "type": kind },
                "next": node,
                "all": { "type": "array", "items": node },
            },
            "anyOf": [node, { "type": "object" }],
        });
        document
    };
    assert_eq!(described(&compare(&tree("string"), &tree("string"))), []);
    let places: Vec<_> = described(&compare(&tree("string"), &tree("integer")))
        .into_iter()
        .map(|(_, line)| line)
        .collect();
    assert_eq!(places, ["body.name: type string -> integer", "200.name: type string -> integer"]);
}

#[test]
fn references_that_multiply_are_limited() {
    let mut document = exchange(&json!({ "$ref": "#/components/schemas/S0" }), &json!({}));
    for level in 0..40 {
        let next = json!({ "$ref": format!("#/components/schemas/S{}", level + 1) });
        document["components"]["schemas"][format!("S{level}")] =
            json!({ "properties": { "a": next, "b": next } });
    }
    document["components"]["schemas"]["S40"] = json!({});
    let error = try_compare(&document, &document).expect_err("2^40 schemas were accepted");
    assert!(
        format!("{error:#}")
            .ends_with("too large: more than 200000 schemas, with all `$ref`s followed"),
        "{error:#}"
    );
}

#[test]
fn work_is_limited() {
    let branch = |index: usize| {
        let property = (format!("f{index}"), json!({ "type": "string" }));
        json!({ "properties": serde_json::Map::from_iter([property]) })
    };
    let branches: Vec<_> = (0..5000).map(branch).collect();
    let many = exchange(&json!({ "anyOf": branches }), &json!({}));
    let constants: Vec<_> = (0..5000).map(|value| json!({ "const": value })).collect();
    let values = exchange(&json!({ "anyOf": constants }), &json!({}));
    let reference = json!({ "$ref": "#/components/schemas/Long" });
    let fields: serde_json::Map<_, _> =
        (0..5000).map(|index| (format!("f{index}"), reference.clone())).collect();
    let mut long = exchange(&json!({ "properties": fields }), &json!({}));
    long["components"]["schemas"]["Long"] = json!({ "default": "x".repeat(10_000) });
    for document in [many, values, long] {
        let error = try_compare(&document, &document).expect_err("the document was accepted");
        assert!(format!("{error:#}").contains("too large: more than 200000"), "{error:#}");
    }
}

#[test]
fn the_depth_of_references_is_limited() {
    let mut document = exchange(&json!({ "$ref": "#/components/schemas/S0" }), &json!({}));
    for level in 0..5000 {
        let next = json!({ "$ref": format!("#/components/schemas/S{}", level + 1) });
        document["components"]["schemas"][format!("S{level}")] = next;
    }
    document["components"]["schemas"]["S5000"] = json!({});
    let error = try_compare(&document, &document).expect_err("a depth of 5000 was accepted");
    assert!(format!("{error:#}").ends_with("schemas are nested deeper than 128"), "{error:#}");
}

#[test]
fn missing_parts_are_empty() {
    let bare = service(json!({ "/v1/a": { "get": {} }, "/v1/b": {}, "x-note": 5 }));
    let spelled = service(json!({ "/v1/a": { "get": { "parameters": [], "responses": {} } } }));
    assert_eq!(described(&compare(&bare, &spelled)), []);
    let mut empty = exchange(&json!({}), &json!({}));
    empty["paths"]["/v1/a"]["post"]["responses"]["200"] = json!({ "description": "d" });
    assert_eq!(described(&compare(&empty, &exchange(&json!({}), &json!({})))), []);
}

#[test]
fn boolean_schemas_allow_everything_or_nothing() {
    assert_eq!(in_request(&json!(true), &json!({})), []);
    let lines: Vec<_> =
        in_request(&json!(true), &json!(false)).into_iter().map(|(_, line)| line).collect();
    assert_eq!(lines, ["body: type any type -> no type"]);
}
