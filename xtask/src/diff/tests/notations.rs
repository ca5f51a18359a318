//! Different notations of the same schema are equal.

use serde_json::{Value, json};

use super::{exchange, there_and_back};

/// Schemas that are equal to the first of their row.
fn equal() -> Value {
    let string = json!({ "type": "string" });
    let of = |field: Value, required: &[&str]| {
        let properties = json!({ "f": field });
        json!({ "type": "object", "properties": properties, "required": required })
    };
    let tuple = json!([{ "type": "string" }, { "type": "integer" }]);
    json!([
        // Null.
        [
            { "type": "integer", "nullable": true, "minimum": 64 },
            { "anyOf": [{ "type": "integer", "minimum": 64 }, { "type": "null" }], "title": "F" },
            { "type": ["integer", "null"], "minimum": 64 },
            { "oneOf": [{ "type": "null" }, { "type": "integer", "minimum": 64 }] },
            { "type": ["integer", "null"], "minimum": 64, "default": null },
            { "allOf": [{ "type": "integer", "minimum": 64 }], "nullable": true },
        ],
        [
            { "type": "string", "nullable": true, "enum": ["a", null] },
            { "type": "string", "enum": ["a", null] },
            { "enum": ["a", null] },
            { "type": ["string", "null"], "enum": ["a"] },
            { "anyOf": [{ "enum": ["a"] }, { "type": "null" }] },
        ],
        [string, { "allOf": [{ "type": ["string", "null"] }, { "type": "string" }] }],
        // Values.
        [{ "type": "string", "enum": ["high"] }, { "const": "high" }],
        [
            { "type": "number", "default": 5, "maximum": 10 },
            { "type": "number", "default": 5.0, "maximum": 10.0 },
            { "type": "number", "x-default": 5, "maximum": 10 },
        ],
        [{ "enum": [1, 2] }, { "type": "integer", "enum": [2.0, 1.0] }],
        [{ "enum": ["b"] }, { "allOf": [{ "enum": ["a", "b"] }, { "enum": ["b", "c"] }] }],
        [{ "enum": ["a", "b"] }, { "oneOf": [{ "const": "a" }, { "const": "b" }] }],
        [{}, true, { "anyOf": [{ "anyOf": [{}, { "type": "null" }] }, { "type": "integer" }] }],
        // Bounds.
        [
            { "type": "number", "minimum": 0, "exclusiveMinimum": true },
            { "type": "number", "exclusiveMinimum": 0 },
        ],
        [
            { "type": "integer", "minimum": 1, "maximum": 9 },
            { "type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10 },
            { "type": "integer", "allOf": [{ "minimum": 1 }, { "minimum": 0, "maximum": 9 }] },
            { "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": 8 },
                { "type": "integer", "minimum": 2, "maximum": 9 },
            ] },
        ],
        [
            { "type": "number", "minimum": 5, "exclusiveMinimum": false },
            { "type": "number", "minimum": 5, "exclusiveMinimum": 1 },
        ],
        [string, { "type": "string", "minLength": 0 }],
        [
            { "allOf": [{ "pattern": "a" }, { "pattern": "b" }] },
            { "allOf": [{ "pattern": "b" }, { "pattern": "a" }] },
        ],
        // Formats.
        [
            { "type": "string", "format": "binary" },
            { "type": "string", "contentMediaType": "application/octet-stream" },
        ],
        [{ "type": "string", "format": "byte" }, { "type": "string", "contentEncoding": "base64" }],
        [
            string,
            { "type": "string", "contentMediaType": "image/png" },
            { "type": "string", "title": "T", "description": "d", "examples": ["a"], "x-a": "b" },
        ],
        // Types and alternatives.
        [
            { "type": ["integer", "string"], "minimum": 1, "maxLength": 9 },
            { "anyOf": [
                { "type": "string", "maxLength": 9 },
                { "type": "integer", "minimum": 1 },
            ] },
        ],
        [
            { "type": ["object", "integer"], "properties": { "f": string }, "required": ["f"] },
            { "anyOf": [of(string.clone(), &["f"]), { "type": "integer" }] },
            { "anyOf": [{ "type": "integer" }, of(string.clone(), &["f"])] },
        ],
        // Objects.
        [
            of(json!({ "type": "string", "maxLength": 9 }), &["f"]),
            { "allOf": [of(json!({ "maxLength": 9 }), &["f"]), of(string.clone(), &[])] },
            { "allOf": [
                of(json!({ "type": "string", "maxLength": 9 }), &[]),
                { "required": ["f"] },
            ] },
        ],
        [
            of(string.clone(), &["f"]),
            { "anyOf": [of(string.clone(), &["f"]), of(string.clone(), &["f"])] },
        ],
        [
            { "oneOf": [of(string.clone(), &["f"]), of(string.clone(), &[])], "nullable": true },
            { "anyOf": [of(string.clone(), &[]), { "type": "null" }, of(string.clone(), &["f"])] },
        ],
        [
            { "type": "object", "additionalProperties": false },
            { "type": "object", "unevaluatedProperties": false },
        ],
        [{ "type": "object" }, { "type": "object", "additionalProperties": true }],
        [
            { "type": ["string", "null"], "deprecated": true },
            { "anyOf": [{ "type": "string", "deprecated": true }, { "type": "null" }] },
        ],
        [string, { "anyOf": [{ "type": "string", "deprecated": true }, string] }],
        // Arrays and tuples.
        [
            { "type": "array", "items": { "type": ["string", "integer"] } },
            { "prefixItems": tuple },
            { "prefixItems": tuple, "items": false },
        ],
        [
            { "type": ["array", "integer"], "items": string },
            { "anyOf": [{ "type": "array", "items": string }, { "type": "integer" }] },
        ],
        // References, of which the name does not matter, with keywords beside them.
        [
            { "type": "string", "enum": ["a", "b"], "default": "a" },
            { "$ref": "#/components/schemas/Mode", "default": "a", "title": "T" },
            { "$ref": "#/components/schemas/Outer/$defs/Mode", "default": "a" },
            { "allOf": [{ "$ref": "#/components/schemas/Mode" }], "default": "a" },
        ],
        [
            { "type": "string", "enum": ["a", "b"], "nullable": true },
            { "allOf": [{ "$ref": "#/components/schemas/Mode" }], "nullable": true },
        ],
    ])
}

/// A service with the schema in a field and in its items.
fn with(schema: &Value) -> Value {
    let in_field = json!({ "type": "object", "properties": { "f": schema } });
    let mut service = exchange(&in_field, &json!({ "type": "array", "items": schema }));
    let mode = json!({ "type": "string", "enum": ["a", "b"] });
    service["components"]["schemas"] =
        json!({ "Mode": mode, "Outer": { "$defs": { "Mode": mode } } });
    service
}

#[test]
fn different_notations_are_equal() {
    for row in equal().as_array().unwrap() {
        for other in row.as_array().unwrap() {
            let differences = there_and_back(&with(&row[0]), &with(other));
            assert_eq!(differences, "", "{}\n{other}", row[0]);
        }
    }
}

/// Our own document in the style of a framework that generates OpenAPI 3.1.
#[test]
fn our_document_in_another_notation_is_equal() {
    fn translate(value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let members = members.iter();
                let mut translated: serde_json::Map<_, _> = members
                    .map(|(name, member)| (name.replace("x-default", "default"), translate(member)))
                    .collect();
                if translated.remove("nullable") != Some(true.into()) {
                    return translated.into();
                }
                let default = translated.remove("default");
                let mut nullable = json!({ "anyOf": [translated, { "type": "null" }] });
                default.into_iter().for_each(|default| nullable["default"] = default);
                nullable
            }
            Value::Array(items) => items.iter().map(translate).collect(),
            other => other.clone(),
        }
    }
    let ours: Value = serde_json::from_str(crate::contract::DOCUMENT).unwrap();
    let theirs = translate(&ours);
    assert_ne!(ours, theirs);
    assert_eq!(there_and_back(&ours, &theirs), "");
}
