//! The rules for schemas, row by row.

use serde_json::{Value, json};

use super::{exchange, there_and_back};

/// Pairs of schemas of a field of a request and of a response.
fn fields() -> Value {
    // What frameworks generate for a list of known names that may grow.
    let open = |values: &[&str]| {
        let string = json!({ "type": "string" });
        json!({ "anyOf": [string, { "type": "string", "enum": values }] })
    };
    json!([
        [{ "type": "integer" }, { "type": "number" }],
        [{ "type": "string" }, { "type": "integer" }],
        [{}, { "type": "integer" }],
        [true, false],
        [{ "type": "string" }, { "type": ["string", "null"] }],
        [{ "anyOf": [{}, { "type": "null" }] }, { "type": "string" }],
        [{ "type": "number", "minimum": 1.5 }, { "type": "number", "minimum": 2 }],
        [{ "type": "number" }, { "type": "number", "minimum": 2 }],
        [{ "type": "number", "maximum": 5 }, { "type": "number", "maximum": 6 }],
        [{ "type": "number", "minimum": 2 }, { "type": "number", "exclusiveMinimum": 2 }],
        [{ "type": "number", "multipleOf": 32 }, { "type": "number", "multipleOf": 16 }],
        [{ "type": "number", "multipleOf": 16 }, { "type": "number", "multipleOf": 24 }],
        [{ "type": "string", "maxLength": 9 }, { "type": "string", "maxLength": 8 }],
        [{ "type": "string", "minLength": 2 }, { "type": "string", "minLength": 1 }],
        [{ "type": "array", "maxItems": 9 }, { "type": "array", "maxItems": 8 }],
        [{ "type": "string", "pattern": "a" }, { "type": "string", "pattern": "b" }],
        [{ "type": "string" }, { "type": "string", "pattern": "b" }],
        [{ "pattern": "a" }, { "allOf": [{ "pattern": "a" }, { "pattern": "b" }] }],
        [{ "type": "string", "format": "a" }, { "type": "string", "format": "b" }],
        [{ "type": "string" }, { "type": "string", "format": "uri" }],
        [{ "type": "integer", "format": "int32" }, { "type": "integer", "format": "int64" }],
        [{ "enum": ["jpeg", "png"] }, { "enum": ["jpeg", "png", "webp"] }],
        [{ "type": "string" }, { "type": "string", "enum": ["jpeg", "png"] }],
        [{ "enum": ["a"] }, { "enum": ["b"] }],
        [open(&["a"]), open(&["a", "b"])],
        [open(&["a"]), open(&["b"])],
        [{ "type": "string" }, open(&["a"])],
        [{ "type": "string", "enum": ["a", "b"] }, open(&["b", "c"])],
        [{ "type": "integer", "default": 2 }, { "type": "integer", "default": 3 }],
        [{ "type": "integer", "default": 2 }, { "type": "integer" }],
        [{ "type": "object" }, { "type": "object", "additionalProperties": false }],
        [{ "type": "string" }, { "type": "string", "deprecated": true }],
        [{ "type": "array", "items": false }, { "type": "array" }],
        [
            { "type": "array", "items": { "type": "string" } },
            { "type": "array", "items": { "type": ["string", "null"] } },
        ],
        [
            { "properties": { "list": { "items": { "properties": { "f": { "minimum": 1 } } } } } },
            { "properties": { "list": { "items": { "properties": { "f": { "minimum": 2 } } } } } },
        ],
    ])
}

/// Pairs of schemas of a request and of a response.
fn bodies() -> Value {
    let (string, null) = (json!({ "type": "string" }), json!({ "type": ["string", "null"] }));
    let of = |field: &Value, required: &[&str]| {
        let properties = json!({ "f": field });
        json!({ "type": "object", "properties": properties, "required": required })
    };
    let alternative = |name: &str, required: &[&str]| {
        let properties = json!({ "id": string, name: string });
        json!({ "properties": properties, "required": required })
    };
    let (a, b) = (alternative("a", &["id", "a"]), alternative("b", &["id", "b"]));
    json!([
        [{ "type": "object" }, of(&string, &[])],
        [{ "type": "object" }, of(&string, &["f"])],
        [of(&string, &[]), of(&string, &["f"])],
        [of(&string, &["f"]), of(&null, &["f"])],
        [of(&null, &["f"]), of(&null, &[])],
        [a, { "anyOf": [a, b] }],
        [{ "anyOf": [a, b] }, { "anyOf": [a, alternative("b", &["id"])] }],
        [{ "type": "string" }, { "type": ["string", "null"] }],
    ])
}

#[test]
fn every_rule_has_its_marks() {
    let mut text = String::new();
    let in_field = |schema: &Value| json!({ "type": "object", "properties": { "f": schema } });
    for (pairs, read) in
        [(fields(), &in_field as &dyn Fn(&Value) -> Value), (bodies(), &Value::clone)]
    {
        for pair in pairs.as_array().unwrap() {
            let ([from, to], anything) = ([&pair[0], &pair[1]].map(read), json!({}));
            text += &format!("{}\n{}\n", pair[0], pair[1]);
            text += &there_and_back(&exchange(&from, &anything), &exchange(&to, &anything));
            text += &there_and_back(&exchange(&anything, &from), &exchange(&anything, &to));
            text.push('\n');
        }
    }
    insta::assert_snapshot!(text);
}
