//! Different notations of the same thing are equal.

use serde_json::{Value, json};

use super::{compare, described, exchange, in_request, service};
use crate::diff::difference::Mark::{Breaking, Compatible};

#[track_caller]
fn assert_same(a: Value, b: Value) {
    let hold = |schema: Value| json!({ "type": "object", "properties": { "f": schema } });
    let (a, b) = (hold(a), hold(b));
    assert_eq!(in_request(&a, &b), []);
    assert_eq!(in_request(&b, &a), []);
}

#[test]
fn null_has_many_notations() {
    let flag = json!({ "type": "integer", "nullable": true, "minimum": 64 });
    let integer = json!({ "type": "integer", "minimum": 64 });
    let branch = json!({ "anyOf": [integer, { "type": "null" }], "title": "F" });
    assert_same(flag.clone(), branch);
    assert_same(flag.clone(), json!({ "type": ["integer", "null"], "minimum": 64 }));
    assert_same(
        flag,
        json!({ "oneOf": [{ "type": "null" }, { "type": "integer", "minimum": 64 }] }),
    );
    let listed = json!({ "type": "string", "nullable": true, "enum": ["a", null] });
    assert_same(listed, json!({ "anyOf": [{ "enum": ["a"] }, { "type": "null" }] }));
}

#[test]
fn a_null_default_is_the_same_as_none() {
    assert_same(
        json!({ "type": "integer", "nullable": true }),
        json!({ "type": ["integer", "null"], "default": null }),
    );
}

#[test]
fn a_constant_is_an_enumeration_of_one() {
    assert_same(json!({ "type": "string", "enum": ["high"] }), json!({ "const": "high" }));
}

#[test]
fn numbers_are_compared_by_value() {
    assert_same(
        json!({ "type": "number", "default": 5, "maximum": 10 }),
        json!({ "type": "number", "default": 5.0, "maximum": 10.0 }),
    );
    assert_same(json!({ "enum": [1, 2] }), json!({ "type": "integer", "enum": [2.0, 1.0] }));
}

#[test]
fn exclusive_bounds_are_flags_or_numbers() {
    let flag = json!({ "type": "number", "minimum": 0, "exclusiveMinimum": true });
    assert_same(flag, json!({ "type": "number", "exclusiveMinimum": 0 }));
    assert_same(
        json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
        json!({ "type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10 }),
    );
    assert_same(
        json!({ "type": "number", "minimum": 5, "exclusiveMinimum": false }),
        json!({ "type": "number", "minimum": 5, "exclusiveMinimum": 1 }),
    );
}

#[test]
fn x_default_is_a_default() {
    assert_same(
        json!({ "type": "integer", "minimum": 64, "x-default": 0 }),
        json!({ "type": "integer", "minimum": 64, "default": 0 }),
    );
}

#[test]
fn a_minimum_length_of_zero_is_ignored() {
    assert_same(json!({ "type": "string", "minLength": 0 }), json!({ "type": "string" }));
}

#[test]
fn annotations_are_ignored() {
    let bare = json!({ "type": "string" });
    assert_same(
        bare,
        json!({
            "type": "string",
            "title": "T",
            "description": "d",
            "examples": ["a"],
            "x-image": "base64",
        }),
    );
}

#[test]
fn component_names_are_ignored() {
    let format = json!({ "type": "string", "enum": ["jpeg", "png"] });
    let mut ours = exchange(
        &json!({ "$ref": "#/components/schemas/Request" }),
        &json!({ "$ref": "#/components/schemas/Response" }),
    );
    let wrapped = json!({
        "nullable": true,
        "allOf": [{ "$ref": "#/components/schemas/Format" }],
        "default": "jpeg",
    });
    ours["components"]["schemas"] = json!({
        "Format": format,
        "Request": { "type": "object", "properties": { "format": wrapped } },
        "Response": {
            "type": "object",
            "required": ["id"],
            "properties": { "id": { "type": "string" } },
        },
    });
    let inlined = json!({ "anyOf": [format, { "type": "null" }], "default": "jpeg" });
    let theirs = exchange(
        &json!({ "type": "object", "properties": { "format": inlined } }),
        &json!({
            "allOf": [
                { "type": "object", "properties": { "id": { "type": "string" } } },
                { "required": ["id"] },
            ],
        }),
    );
    assert_eq!(described(&compare(&ours, &theirs)), []);
}

#[test]
fn an_alternative_that_covers_the_other_decides() {
    let known = json!({ "type": "string", "enum": ["Ready", "Error"] });
    let known = json!({ "anyOf": [known, { "type": "string" }] });
    assert_same(known, json!({ "type": "string" }));
    let string = json!({ "type": "string", "maxLength": 9 });
    let limited = json!({ "anyOf": [string, { "type": "integer", "minimum": 1 }] });
    assert_same(limited, json!({ "type": ["integer", "string"], "minimum": 1, "maxLength": 9 }));
}

#[test]
fn a_field_of_one_alternative_is_optional() {
    let alternative = |field: &str| {
        json!({
            "type": "object",
            "required": ["id", field],
            "properties": { "id": { "type": "string" }, field: { "type": "string" } },
        })
    };
    let both = json!({ "anyOf": [alternative("polling_url"), alternative("webhook_url")] });
    let found = super::in_response(&alternative("polling_url"), &both);
    let expected = [
        (Breaking, "200.polling_url: required true -> false"),
        (Compatible, "200.webhook_url: added optional, string"),
    ];
    assert_eq!(found, expected.map(|(mark, line)| (mark, line.to_owned())));
}

#[test]
fn names_of_path_parameters_are_ignored() {
    let with = |name: &str| {
        let parameter =
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
        let path = format!("/v1/{{{name}}}-finetuned");
        service(json!({ path: { "parameters": [parameter], "post": {} } }))
    };
    assert_eq!(described(&compare(&with("base_model"), &with("model"))), []);
}

#[test]
fn the_key_is_not_a_parameter() {
    let mut ours = service(json!({ "/v1/a": { "get": {} } }));
    ours["components"]["securitySchemes"]["Key"] =
        json!({ "type": "apiKey", "in": "header", "name": "x-key" });
    ours["security"] = json!([{ "Key": [] }]);
    let header = json!([{
        "name": "X-Key",
        "in": "header",
        "required": true,
        "schema": { "type": "string" },
    }]);
    let theirs = service(json!({ "/v1/a": { "get": { "parameters": header } } }));
    assert_eq!(described(&compare(&ours, &theirs)), []);
    assert_eq!(described(&compare(&theirs, &ours)), []);
}

#[test]
fn implicit_defaults_can_be_explicit() {
    let schema = json!({ "type": "string" });
    let parameter =
        |location: &str, name: &str| json!({ "name": name, "in": location, "schema": schema });
    let with = |path: Value, extra: Value, media_type: &str| {
        service(json!({ "/v1/{id}": { "parameters": [path, extra], "post": {
            "requestBody": { "content": { media_type: { "schema": {} } } },
        } } }))
    };
    let query = parameter("query", "q");
    let mut ours = with(parameter("path", "id"), query.clone(), "application/json");
    let mut required = parameter("path", "id");
    required["required"] = json!(true);
    let theirs = with(required, query, "application/json; charset=utf-8");
    assert_eq!(described(&compare(&ours, &theirs)), []);
    let negotiated = parameter("header", "Accept");
    ours["paths"]["/v1/{id}"]["post"]["parameters"] = json!([negotiated]);
    assert_eq!(described(&compare(&ours, &theirs)), []);
}

/// Our own document in the style of a framework that generates OpenAPI 3.1.
#[test]
fn our_document_in_another_notation_is_equal() {
    fn translate(value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut members: serde_json::Map<_, _> = members
                    .iter()
                    .map(|(name, member)| (name.clone(), translate(member)))
                    .collect();
                if let Some(default) = members.remove("x-default") {
                    members.insert("default".into(), default);
                }
                if members.remove("nullable") == Some(Value::Bool(true)) {
                    let default = members.remove("default");
                    let branches = json!([Value::Object(members), { "type": "null" }]);
                    return match default {
                        Some(default) => {
                            json!({ "title": "T", "anyOf": branches, "default": default })
                        }
                        None => json!({ "title": "T", "anyOf": branches }),
                    };
                }
                Value::Object(members)
            }
            Value::Array(items) => items.iter().map(translate).collect(),
            other => other.clone(),
        }
    }
    let ours: Value = serde_json::from_str(include_str!("../../../../openapi.json"))
        .expect("openapi.json is not JSON");
    let theirs = translate(&ours);
    assert_ne!(ours, theirs);
    assert_eq!(described(&compare(&ours, &theirs)), []);
}
