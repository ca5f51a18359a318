//! Reads `openapi.json` into the same form as the lists.

use serde_json::{Map, Value};

use crate::facts::{Facts, NOTHING, Row, alternatives, json, number};

type Schema = Map<String, Value>;

/// The schemas that `responses.tsv` describes.
const RESPONSES: [&str; 5] = [
    "AsyncResponse",
    "AsyncWebhookResponse",
    "HTTPValidationError",
    "PollResult",
    "ValidationError",
];

/// Keywords of a property that have a column, or that do not restrict values.
const KNOWN_KEYWORDS: [&str; 14] = [
    "$ref",
    "allOf",
    "anyOf",
    "type",
    "nullable",
    "default",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "enum",
    "format",
    "description",
];

/// Returns the method, the path and the operation of every operation.
pub fn each_operation(document: &Value) -> Vec<(String, &str, &Value)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for method in ["get", "put", "post", "delete", "options", "head", "patch", "trace"] {
            if let Some(operation) = item.get(method) {
                found.push((method.to_uppercase(), path.as_str(), operation));
            }
        }
    }
    found
}

pub fn request_schema(operation: &Value) -> Option<&Value> {
    operation.pointer("/requestBody/content/application~1json/schema")
}

/// Returns the target of a local `$ref`.
pub fn referred<'a>(document: &'a Value, reference: &str) -> Option<&'a Value> {
    document.pointer(reference.strip_prefix('#')?)
}

/// Merges a schema with the schemas that it refers to (`$ref`, `allOf`). Its own keywords take
/// precedence.
pub fn flattened(document: &Value, schema: &Value) -> Schema {
    let mut flat = schema.as_object().expect("a schema is an object").clone();
    let referred = schema.get("$ref").and_then(Value::as_str).map(|reference| {
        referred(document, reference).unwrap_or_else(|| panic!("{reference} does not exist"))
    });
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    for part in parts.chain(referred) {
        for (keyword, value) in flattened(document, part) {
            flat.entry(keyword).or_insert(value);
        }
    }
    flat
}

pub fn operations(document: &Value) -> Facts {
    let facts = each_operation(document).into_iter().map(|(method, path, operation)| {
        let row = Row::from([
            ("deprecated", yes_no(operation["deprecated"] == true)),
            ("regional", yes_no(operation["x-region"] == "regional")),
            ("max_reference_images", cell(operation.get("x-max-reference-images"))),
            ("parameters", parameters(document, path, operation)),
            ("success", success(operation)),
        ]);
        (format!("{method} {path}"), row)
    });
    facts.collect()
}

pub fn request_fields(document: &Value) -> Facts {
    let mut facts = Facts::new();
    for (_, path, operation) in each_operation(document) {
        let Some(schema) = request_schema(operation) else {
            continue;
        };
        for (field, property, required) in properties(&flattened(document, schema)) {
            let flat = flattened(document, property);
            facts.insert(format!("{path} {field}"), request_field(&flat, required));
        }
    }
    facts
}

pub fn response_fields(document: &Value) -> Facts {
    let mut facts = Facts::new();
    for name in RESPONSES {
        if let Some(schema) = referred(document, &format!("#/components/schemas/{name}")) {
            add_response_fields(document, &mut facts, &format!("{name} "), schema);
        }
    }
    facts
}

fn add_response_fields(document: &Value, facts: &mut Facts, prefix: &str, schema: &Value) {
    for (field, property, required) in properties(&flattened(document, schema)) {
        let flat = flattened(document, property);
        let row = Row::from([
            ("type", type_of(&flat)),
            ("nullable", yes_no(flat.get("nullable") == Some(&Value::Bool(true)))),
            ("required", yes_no(required)),
        ]);
        facts.insert(format!("{prefix}{field}"), row);
        add_response_fields(document, facts, &format!("{prefix}{field}."), property);
    }
}

fn properties(schema: &Schema) -> Vec<(&str, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |field: &str| required.is_some_and(|names| names.iter().any(|name| name == field));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.map(|(field, property)| (field.as_str(), property, is_required(field))).collect()
}

fn request_field(schema: &Schema, required: bool) -> Row {
    let at = |keyword: &str| cell(schema.get(keyword));
    Row::from([
        ("type", request_type(schema)),
        ("nullable", yes_no(schema.get("nullable") == Some(&Value::Bool(true)))),
        ("required", yes_no(required)),
        // A default outside its own bounds cannot be a `default`.
        ("default", cell(schema.get("default").or(schema.get("x-default")))),
        ("minimum", at("minimum")),
        ("maximum", at("maximum")),
        ("multiple_of", at("multipleOf")),
        ("min_length", at("minLength")),
        ("max_length", at("maxLength")),
        ("enum", alternatives(strings(schema.get("enum")))),
        ("note", note(schema)),
        ("other keywords", other_keywords(schema)),
    ])
}

/// Returns the type as named in the lists: an image is a string with an encoding, a URI a string
/// with that format.
fn request_type(schema: &Schema) -> String {
    let named = type_of(schema);
    match schema.get("format").and_then(Value::as_str) {
        _ if named == "string" && schema.contains_key("x-image") => "image".into(),
        Some("uri") if named == "string" => "uri".into(),
        Some(format) => format!("{named} ({format})"),
        None => named,
    }
}

fn type_of(schema: &Schema) -> String {
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        let mut names: Vec<_> = branches.iter().map(name_of).collect();
        names.dedup();
        return names.join("|");
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => {
            format!("array<{}>", schema.get("items").map_or("not-shown".into(), name_of))
        }
        Some(name) => name.into(),
        None => "not-shown".into(),
    }
}

fn name_of(schema: &Value) -> String {
    match schema["$ref"].as_str() {
        Some(reference) => component_name(reference).into(),
        None => type_of(schema.as_object().expect("a schema is an object")),
    }
}

fn component_name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

fn note(schema: &Schema) -> String {
    let mut notes = Vec::new();
    for (keyword, name) in
        [("x-image", "image"), ("x-mask-of", "mask-of"), ("x-max-megapixels", "max-megapixels")]
    {
        match schema.get(keyword) {
            Some(Value::String(text)) => notes.push(format!("{name}={text}")),
            Some(other) => notes.push(format!("{name}={other}")),
            None => {}
        }
    }
    if let Some(range) = schema.get("x-aspect-ratio") {
        let end = |name: &str| range[name].as_str().unwrap_or("?").to_owned();
        notes.push(format!("aspect={}..{}", end("min"), end("max")));
    }
    if let Some(secret) = schema.get("x-secret") {
        notes.push(format!("secret={secret}"));
    }
    if notes.is_empty() { NOTHING.into() } else { notes.join(";") }
}

/// Returns keywords that restrict a field but have no column. The interface has none.
fn other_keywords(schema: &Schema) -> String {
    let unknown = schema
        .keys()
        .filter(|key| !key.starts_with("x-") && !KNOWN_KEYWORDS.contains(&key.as_str()));
    alternatives(unknown.cloned().collect())
}

fn parameters(document: &Value, path: &str, operation: &Value) -> String {
    let shared = document["paths"][path]["parameters"].as_array();
    let own = operation["parameters"].as_array();
    let names = shared.into_iter().chain(own).flatten().map(|parameter| {
        let part = |name: &str| parameter[name].as_str().unwrap_or("?").to_owned();
        format!("{}:{}", part("in"), part("name"))
    });
    alternatives(names.collect())
}

fn success(operation: &Value) -> String {
    let Some(schema) = operation.pointer("/responses/200/content/application~1json/schema") else {
        return NOTHING.into();
    };
    match schema["anyOf"].as_array() {
        Some(branches) => alternatives(branches.iter().map(name_of).collect()),
        None => name_of(schema),
    }
}

fn strings(values: Option<&Value>) -> Vec<String> {
    let values = values.and_then(Value::as_array).into_iter().flatten();
    values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None => NOTHING.into(),
        Some(Value::Number(value)) => {
            number(value.as_f64().expect("a number of the document fits f64"))
        }
        Some(value) => json(value),
    }
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.into()
}
