//! The pass before progenitor: adapts the document so that progenitor generates a good client.
//!
//! - Every submission gets its own request type, named after its path, even if two share a schema.
//! - Defaults and limits are removed: a field with a default would always be sent, and a field with
//!   limits would become a separate type. They remain in the documentation, and `emit` adds them to
//!   the table that `validate()` uses.
//! - Special fields become references to the hand-written types of the SDK.
//! - Bodies are opaque bytes: requests are streamed, and the SDK reads responses itself, because it
//!   must keep what it cannot parse. Failure responses are not declared for the same reason.
//! - All submissions are one operation, because the table of operations has their paths. Polling is
//!   removed, because the client polls the returned URL instead of a path.

#![allow(clippy::indexing_slicing, reason = "the contract was checked: its schemas are objects")]

use serde_json::{Map, Value, json};

use super::{
    contract::{Contract, PathParameter, Submission},
    field::{Field, Kind},
    types::Types,
    words,
};

/// Schemas that represent hand-written types: the name in the adapted document, and the type.
pub const REPLACED: [(&str, &str); 7] = [
    ("TaskStatus", "crate::TaskStatus"),
    ("ValidationError", "crate::Violation"),
    ("Location", "crate::Location"),
    ("ImageInput", "crate::ImageInput"),
    ("AspectRatio", "crate::AspectRatio"),
    ("WebhookSecret", "crate::WebhookSecret"),
    ("Address", "crate::Address"),
];

/// A field that keeps progenitor from generating a tuple for a type without fields. The type must
/// not change its form when the contract defines its first field. The field is removed from the
/// generated code.
pub const PLACEHOLDER: &str = "placeholder_of_a_type_without_fields";

pub fn adapt(document: &Value, contract: &Contract, types: &Types) -> Value {
    let mut schemas = Map::new();
    let originals = document
        .pointer("/components/schemas")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();

    for operation in &contract.operations {
        let Some(submission) = &operation.submission else { continue };
        schemas.insert(submission.type_name.clone(), request_schema(submission, &originals));
    }
    for name in &contract.responses.schemas {
        // The SDK reads the alternatives itself.
        if originals[name].get("oneOf").is_none() {
            schemas.insert(name.clone(), open(&originals[name]));
        }
    }
    let choices = types.choices.iter().map(|choice| choice.type_name.as_str());
    for name in REPLACED.iter().map(|(name, _)| *name).chain(choices) {
        schemas.insert(name.to_owned(), json!({ "type": "string" }));
    }
    json!({
        "openapi": document["openapi"],
        "info": document["info"],
        "paths": { "/": { "post": {
            "operationId": "submit",
            "requestBody": { "required": true, "content": opaque() },
            "responses": { "200": { "description": "Accepted.", "content": opaque() } },
        }}},
        "components": { "schemas": schemas },
    })
}

fn opaque() -> Value {
    json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } })
}

fn request_schema(submission: &Submission, originals: &Map<String, Value>) -> Value {
    let Submission { fields, path_parameters, .. } = submission;
    let mut properties: Map<_, _> =
        fields.iter().map(|field| (field.name.clone(), request_field(field))).collect();
    let required = fields.iter().filter(|field| field.required).map(|field| &field.name);
    let mut required: Vec<_> = required.collect();
    // The caller sets path parameters, so the type has them as fields. `emit` puts them into the
    // path.
    for PathParameter { name, description, .. } in path_parameters {
        let schema = json!({ "type": "string", "description": description });
        properties.insert(name.clone(), schema);
        required.push(name);
    }
    if properties.is_empty() {
        properties.insert(PLACEHOLDER.to_owned(), json!({}));
    }
    json!({
        "type": "object",
        "description": originals[&submission.schema]["description"],
        "required": required,
        "properties": properties,
        "additionalProperties": {},
    })
}

fn request_field(field: &Field) -> Value {
    let mut schema = value_schema(field);
    // Never `nullable`: fields that are not set are not sent, and an explicit null is set through
    // `extra`.
    schema["description"] = words::documentation(field).into();
    schema
}

fn value_schema(field: &Field) -> Value {
    match &field.kind {
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
    }
}

/// Wraps a reference in `allOf`, because a description next to a bare `$ref` would be lost.
fn reference(name: &str) -> Value {
    json!({ "allOf": [{ "$ref": format!("#/components/schemas/{name}") }] })
}

/// Adapts the schema of a response, so that unknown fields and values are kept at every depth.
fn open(schema: &Value) -> Value {
    if schema.get("x-address").is_some() {
        let mut address = reference("Address");
        address["description"] = schema["description"].clone();
        return address;
    }
    let mut schema = schema.clone();
    let Some(members) = schema.as_object_mut() else { return schema };
    match members.get("type").and_then(Value::as_str) {
        Some("object") => {
            members.insert("additionalProperties".to_owned(), json!({}));
            members.remove("not");
            let properties = members.get_mut("properties").and_then(Value::as_object_mut);
            let properties = properties.into_iter().flat_map(Map::values_mut);
            properties.for_each(|property| *property = open(property));
        }
        Some("array") => {
            if let Some(items) = members.get_mut("items") {
                *items = open(items);
            }
        }
        Some("string") => {
            // progenitor would use types of other crates for dates and UUIDs, and an enum without
            // the values that the service adds.
            members.remove("format");
            members.remove("enum");
        }
        _ => {}
    }
    schema
}
