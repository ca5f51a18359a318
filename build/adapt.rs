//! The pass before progenitor: turns the honest document into one that progenitor makes a good
//! client of.
//!
//! - Every submission gets a request type of its own, named after its path, also where two share a
//!   schema.
//! - Defaults and limits go (a field with a default would always be sent, one with limits would
//!   become a type of its own); they stay in the documentation, and `emit` puts them in the table
//!   that `validate()` works from.
//! - Fields with a meaning of their own become references to the SDK's hand-written types.
//! - Bodies are opaque bytes both ways: requests are streamed, and answers are read by the SDK,
//!   which must keep what it can't read. Failures are not declared: the SDK reads every one of them
//!   itself.
//! - Polling is left out: it goes to the address that the service returned, not to a path.

use serde_json::{Map, Value, json};

use super::{
    contract::{Contract, Submission},
    field::Field,
    kind::Kind,
    limits,
};

/// Schemas that stand for hand-written types: the name in the adapted document, and the type.
pub const REPLACED: [(&str, &str); 6] = [
    ("TaskStatus", "crate::TaskStatus"),
    ("ValidationError", "crate::Violation"),
    ("ImageInput", "crate::ImageInput"),
    ("AspectRatio", "crate::AspectRatio"),
    ("WebhookSecret", "crate::WebhookSecret"),
    ("Address", "crate::Address"),
];

/// A field that keeps progenitor from turning a type without fields into a tuple: the type must keep
/// its shape when the contract shows its first field. It is removed from the generated code.
pub const PLACEHOLDER: &str = "placeholder_of_a_type_without_fields";

pub fn adapt(document: &Value, contract: &Contract) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let originals = document
        .pointer("/components/schemas")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();

    for operation in &contract.operations {
        let Some(submission) = &operation.submission else { continue };
        schemas.insert(submission.type_name.clone(), request_schema(submission, &originals));
        paths.insert(
            operation.path.clone(),
            json!({ "post": {
                "operationId": operation.id,
                "summary": operation.summary,
                "parameters": submission.path_parameters.iter().map(|parameter| json!({
                    "name": parameter.name, "in": "path", "required": true, "schema": { "type": "string" },
                })).collect::<Vec<_>>(),
                "requestBody": { "required": true, "content": opaque() },
                "responses": { "200": { "description": "Accepted.", "content": opaque() } },
            }}),
        );
    }
    for (name, schema) in &originals {
        if !contract
            .operations
            .iter()
            .filter_map(|o| o.submission.as_ref())
            .any(|s| &s.schema == name)
        {
            schemas.insert(name.clone(), open(schema));
        }
    }
    let choices = contract.choices.iter().map(|choice| choice.type_name.as_str());
    for name in REPLACED.iter().map(|(name, _)| *name).chain(choices) {
        schemas.insert(name.to_owned(), json!({ "type": "string" }));
    }
    json!({
        "openapi": document["openapi"],
        "info": document["info"],
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn opaque() -> Value {
    json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } })
}

fn request_schema(submission: &Submission, originals: &Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    // A parameter in the path is part of what the caller gives, so the type holds it; `emit` sends
    // it in the path.
    for parameter in &submission.path_parameters {
        required.push(&parameter.name);
        properties.insert(
            parameter.name.clone(),
            json!({ "type": "string", "description": parameter.description }),
        );
    }
    for field in &submission.fields {
        if field.required {
            required.push(&field.name);
        }
        properties.insert(field.name.clone(), request_field(field));
    }
    let description = originals.get(&submission.schema).map(|schema| &schema["description"]);
    if properties.is_empty() {
        properties.insert(PLACEHOLDER.to_owned(), json!({}));
    }
    json!({
        "type": "object",
        "description": description,
        "required": required,
        "properties": properties,
        "additionalProperties": {},
    })
}

fn request_field(field: &Field) -> Value {
    let mut schema = match &field.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Integer => json!({ "type": "integer", "format": "int64" }),
        Kind::Number => json!({ "type": "number", "format": "double" }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Choice { type_name, .. } => reference(type_name),
        Kind::Image { .. } => reference("ImageInput"),
        Kind::AspectRatio { .. } => reference("AspectRatio"),
        Kind::Address => reference("Address"),
        Kind::Secret => reference("WebhookSecret"),
        Kind::Json => json!({}),
    };
    schema["description"] = limits::documentation(field).into();
    // Never `nullable`: a field that is not set is not sent, and an explicit null goes in through
    // `extra`.
    schema
}

/// `allOf` around one reference keeps the description, where a bare `$ref` would lose it.
fn reference(name: &str) -> Value {
    json!({ "allOf": [{ "$ref": format!("#/components/schemas/{name}") }] })
}

/// A schema of an answer: what we do not know of it is kept.
fn open(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            if property.get("x-address").is_some() {
                let description = property["description"].clone();
                *property = reference("Address");
                property["description"] = description;
            }
        }
    }
    if schema["type"] == "object" {
        schema["additionalProperties"] = json!({});
    }
    schema
}
