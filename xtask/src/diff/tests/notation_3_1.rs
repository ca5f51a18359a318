//! Notations that only OpenAPI 3.1 has, as FastAPI and pydantic write them.

use serde_json::{Value, json};

use super::{compare, described, exchange, in_request, in_response, service};
use crate::diff::difference::Mark::{Breaking, Compatible};

#[track_caller]
fn assert_same(a: Value, b: Value) {
    assert_eq!(in_request(&a, &b), []);
    assert_eq!(in_request(&b, &a), []);
}

#[test]
fn a_tuple_is_an_array_of_what_its_parts_cover() {
    let tuple = json!({ "prefixItems": [{ "type": "string" }, { "type": "integer" }] });
    let array = json!({ "type": "array", "items": { "type": ["string", "integer"] } });
    assert_same(tuple.clone(), array.clone());
    let mut closed = tuple.clone();
    closed["items"] = json!(false);
    assert_same(closed, array);
    let mut more = tuple;
    more["items"] = json!({ "type": "boolean" });
    let all = json!({ "type": "array", "items": { "type": ["string", "integer", "boolean"] } });
    assert_same(more, all);
    let nothing = json!({ "type": "array", "items": false });
    assert_ne!(in_request(&nothing, &json!({ "type": "array" })), []);
}

#[test]
fn bytes_have_a_format_or_an_encoding() {
    let string = |keyword: &str, text: &str| json!({ "type": "string", keyword: text });
    let binary = string("contentMediaType", "application/octet-stream");
    assert_same(string("format", "binary"), binary);
    assert_same(string("format", "byte"), string("contentEncoding", "base64"));
    assert_same(json!({ "type": "string" }), string("contentMediaType", "image/png"));
}

#[test]
fn a_reference_may_have_siblings() {
    let mut theirs = exchange(
        &json!({ "$ref": "#/components/schemas/Mode", "default": "a", "title": "T" }),
        &json!({ "$ref": "#/components/schemas/Outer/$defs/Mode" }),
    );
    let mode = json!({ "type": "string", "enum": ["a", "b"] });
    theirs["components"]["schemas"] =
        json!({ "Mode": mode, "Outer": { "$defs": { "Mode": mode } } });
    let mut with_default = mode.clone();
    with_default["default"] = json!("a");
    assert_eq!(described(&compare(&exchange(&with_default, &mode), &theirs)), []);
}

#[test]
fn path_items_are_followed_and_webhooks_ignored() {
    let ours = service(json!({ "/v1/a": { "post": {} } }));
    let mut theirs = service(json!({ "/v1/a": { "$ref": "#/components/pathItems/A" } }));
    theirs["components"]["pathItems"]["A"] = json!({ "post": {} });
    theirs["webhooks"]["done"] = json!({ "post": { "responses": { "200": {} } } });
    assert_eq!(described(&compare(&ours, &theirs)), []);
}

#[test]
fn unevaluated_properties_are_unknown_fields() {
    assert_same(
        json!({ "type": "object", "additionalProperties": false }),
        json!({ "type": "object", "unevaluatedProperties": false }),
    );
}

#[test]
fn fields_and_parameters_are_deprecated() {
    let field = |schema: Value| json!({ "type": "object", "properties": { "f": schema } });
    let (current, old) = (
        field(json!({ "type": "string" })),
        field(json!({ "type": "string", "deprecated": true })),
    );
    let line = "body.f: deprecated false -> true".to_owned();
    assert_eq!(in_request(&current, &old), [(Compatible, line)]);
    let line = "200.f: deprecated true -> false".to_owned();
    assert_eq!(in_response(&old, &current), [(Compatible, line)]);
    let branches = json!([{ "type": "string" }, { "type": "null" }]);
    let beside = field(json!({ "anyOf": branches, "deprecated": true }));
    let inside = json!([{ "type": "string", "deprecated": true }, { "type": "null" }]);
    assert_same(beside, field(json!({ "anyOf": inside })));
    let other = json!([{ "type": "string", "deprecated": true }, { "type": "string" }]);
    assert_same(current, field(json!({ "anyOf": other })));
    let with = |old: bool| {
        let parameter = json!({ "name": "q", "in": "query", "deprecated": old, "schema": {} });
        service(json!({ "/v1/a": { "get": { "parameters": [parameter] } } }))
    };
    let line = "query q: deprecated false -> true".to_owned();
    assert_eq!(described(&compare(&with(false), &with(true))), [(Compatible, line)]);
}

#[test]
fn headers_of_responses_are_compared() {
    let with = |headers: Value| {
        let response = json!({ "description": "d", "headers": headers });
        service(json!({ "/v1/a": { "get": { "responses": { "200": response } } } }))
    };
    let id = |required: bool, kind: &str| {
        let schema = json!({ "type": kind });
        json!({ "X-Id": { "required": required, "schema": schema } })
    };
    let found =
        |from: &Value, to: &Value| described(&compare(&with(from.clone()), &with(to.clone())));
    let none = json!({});
    let line = "200 header x-id: added optional, string".to_owned();
    assert_eq!(found(&none, &id(false, "string")), [(Compatible, line)]);
    let line = "200 header x-id: removed required, string".to_owned();
    assert_eq!(found(&id(true, "string"), &none), [(Breaking, line)]);
    let line = "200 header x-id: required true -> false".to_owned();
    assert_eq!(found(&id(true, "string"), &id(false, "string")), [(Breaking, line)]);
    let line = "200 header x-id: type integer -> string".to_owned();
    assert_eq!(found(&id(false, "integer"), &id(false, "string")), [(Breaking, line)]);
    let ignored = json!({ "Content-Type": { "schema": { "type": "string" } } });
    assert_eq!(found(&none, &ignored), []);
}
