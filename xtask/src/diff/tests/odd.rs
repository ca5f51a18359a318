//! Documents that no one should write: an error that says where, or a sensible reading, and never a
//! panic.

use super::{compare, exchange, in_request, service, told, try_compare};
use serde_json::{Value, json};

#[track_caller]
fn assert_unreadable(document: &Value, expected: &str) {
    let error = try_compare(&service(json!({})), document).expect_err("this cannot be read");
    assert_eq!(format!("{error:#}"), format!("theirs.json: {expected}"));
}

#[test]
fn what_is_no_openapi_document_is_told_so() {
    assert_unreadable(&json!([]), "the document: an object is expected here, not an array");
    assert_unreadable(&json!({}), "this is no OpenAPI 3 document: it has no `openapi`");
    assert_unreadable(
        &json!({ "openapi": 3 }),
        "/openapi: a string is expected here, not a number",
    );
    assert_unreadable(&json!({ "openapi": "2.0" }), "/openapi: OpenAPI 3 is expected, not \"2.0\"");
    assert_unreadable(&json!({ "openapi": "3.0.0" }), "this document has no `paths`");
}

#[test]
fn misplaced_values_are_told_with_their_place() {
    assert_unreadable(
        &service(json!({ "/v1/a": { "post": { "parameters": {} } } })),
        "/paths/~1v1~1a/post/parameters: an array is expected here, not an object",
    );
    assert_unreadable(
        &service(json!({ "/v1/a": { "get": { "parameters": [{ "in": "query" }] } } })),
        "/paths/~1v1~1a/get/parameters/0: a parameter has no `name`",
    );
    let place = "/paths/~1v1~1a/post/requestBody/content/application~1json/schema";
    let cases = [
        (json!(5), "", "an object is expected here, not a number"),
        (json!({ "minimum": "1" }), "/minimum", "a number is expected here, not a string"),
        (json!({ "type": null }), "/type", "a string is expected here, not null"),
        (json!({ "required": true }), "/required", "an array is expected here, not true or false"),
        (
            json!({ "properties": { "f": [] } }),
            "/properties/f",
            "an object is expected here, not an array",
        ),
        (json!({ "$ref": "#/nowhere" }), "/$ref", "`#/nowhere` leads nowhere in this document"),
        (
            json!({ "$ref": "other.json#/A" }),
            "/$ref",
            "`other.json#/A` leads nowhere in this document",
        ),
    ];
    for (schema, at, complaint) in cases {
        assert_unreadable(&exchange(&schema, &json!({})), &format!("{place}{at}: {complaint}"));
    }
}

#[test]
fn a_path_is_described_once() {
    let twice = service(json!({ "/v1/{a}": { "get": {} }, "/v1/{b}": { "get": {} } }));
    assert_unreadable(&twice, "/paths/~1v1~1{b}: GET /v1/{a} is described twice");
}

#[test]
fn references_in_a_circle_end() {
    let mut circle = service(json!({ "/v1/a": { "$ref": "#/components/pathItems/A" } }));
    circle["components"]["pathItems"] = json!({
        "A": { "$ref": "#/components/pathItems/B" },
        "B": { "$ref": "#/components/pathItems/A" },
    });
    assert_unreadable(&circle, "/paths/~1v1~1a: this `$ref` goes round in a circle");
}

#[test]
fn a_schema_that_holds_itself_is_followed_once_round() {
    let tree = |kind: &str| {
        let node = json!({ "$ref": "#/components/schemas/Node" });
        let mut document = exchange(&node, &node);
        document["components"]["schemas"]["Node"] = json!({
            "type": "object",
            "properties": { "name": { "type": kind }, "next": node, "all": { "type": "array", "items": node } },
            "anyOf": [node, { "type": "object" }],
        });
        document
    };
    assert_eq!(told(&compare(&tree("string"), &tree("string"))), []);
    let places: Vec<_> = told(&compare(&tree("string"), &tree("integer")))
        .into_iter()
        .map(|(_, line)| line)
        .collect();
    assert_eq!(places, ["body.name: type string -> integer", "200.name: type string -> integer"]);
}

#[test]
fn references_that_fan_out_are_too_many() {
    let mut document = exchange(&json!({ "$ref": "#/components/schemas/S0" }), &json!({}));
    for level in 0..40 {
        let next = json!({ "$ref": format!("#/components/schemas/S{}", level + 1) });
        document["components"]["schemas"][format!("S{level}")] =
            json!({ "properties": { "a": next, "b": next } });
    }
    document["components"]["schemas"]["S40"] = json!({});
    let error = try_compare(&document, &document).expect_err("2^40 schemas");
    assert!(
        format!("{error:#}")
            .ends_with("too large: more than 200000 schemas, with all `$ref`s followed"),
        "{error:#}"
    );
}

#[test]
fn references_that_go_deep_are_too_deep() {
    let mut document = exchange(&json!({ "$ref": "#/components/schemas/S0" }), &json!({}));
    for level in 0..5000 {
        let next = json!({ "$ref": format!("#/components/schemas/S{}", level + 1) });
        document["components"]["schemas"][format!("S{level}")] = next;
    }
    document["components"]["schemas"]["S5000"] = json!({});
    let error = try_compare(&document, &document).expect_err("5000 deep");
    assert!(format!("{error:#}").ends_with("schemas are nested deeper than 128"), "{error:#}");
}

#[test]
fn missing_parts_are_read_as_nothing() {
    let bare = service(json!({ "/v1/a": { "get": {} }, "/v1/b": {}, "x-note": 5 }));
    let spelled = service(json!({ "/v1/a": { "get": { "parameters": [], "responses": {} } } }));
    assert_eq!(told(&compare(&bare, &spelled)), []);
    let mut empty = exchange(&json!({}), &json!({}));
    empty["paths"]["/v1/a"]["post"]["responses"]["200"] = json!({ "description": "d" });
    assert_eq!(told(&compare(&empty, &exchange(&json!({}), &json!({})))), []);
}

#[test]
fn boolean_schemas_allow_all_or_nothing() {
    assert_eq!(in_request(&json!(true), &json!({})), []);
    let lines: Vec<_> =
        in_request(&json!(true), &json!(false)).into_iter().map(|(_, line)| line).collect();
    assert_eq!(lines, ["body: type any type -> no type"]);
}
