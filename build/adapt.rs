//! Adapts the document before progenitor reads it, so that progenitor generates the types and the
//! client that the SDK needs.
//!
//! - Each submission gets a request type of its own, named after its path, even if two submissions
//!   share a schema.
//! - Defaults and limits are removed. Otherwise the client would always send a field with a
//!   default, and a field with limits would get a type of its own. The documentation of the field
//!   still states them, and `emit` adds them to the table that `validate()` uses.
//! - Fields such as images and secrets become references to the hand-written types of the SDK.
//! - Bodies become opaque bytes, because the SDK streams requests, and reads responses itself to
//!   keep what it cannot parse. Failure responses are removed for the same reason.
//! - All submissions become one operation, because the table of operations contains their paths.
//!   Polling is removed, because the client polls the URL that the service returns, not a path.

#![allow(clippy::indexing_slicing, reason = "the contract was checked: its schemas are objects")]

use serde_json::{Map, Value, json};

use super::{
    contract::{Contract, PathParameter, Submission},
    field::{Field, Kind},
    types::Types,
    words,
};

/// The schemas that stand for hand-written types: the name in the adapted document, and the path of
/// the type.
pub const REPLACED: [(&str, &str); 7] = [
    ("TaskStatus", "crate::TaskStatus"),
    ("ValidationError", "crate::Violation"),
    ("Location", "crate::Location"),
    ("ImageInput", "crate::ImageInput"),
    ("AspectRatio", "crate::AspectRatio"),
    ("Secret", "crate::Secret"),
    ("Address", "crate::Address"),
];

/// The name of a field that is added to request types without fields. Without it, progenitor would
/// generate a tuple struct, and the form of the type would change as soon as the contract defines
/// its first field. `patch` removes the field from the generated code.
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
        // The SDK reads a schema with alternatives itself, so it needs no generated type.
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
    // The program sets path parameters, so the request type has them as fields. `Request::of_type`
    // moves them from the body to the path.
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
    // The field is never `nullable`, because the client does not send a field that is not set, and
    // programs set an explicit `null` with `extra`.
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
        Kind::Secret => reference("Secret"),
        Kind::Json => json!({}),
    }
}

/// Returns a reference to a schema. It is wrapped in `allOf`, because a description next to a bare
/// `$ref` would be lost.
fn reference(name: &str) -> Value {
    json!({ "allOf": [{ "$ref": format!("#/components/schemas/{name}") }] })
}

/// Adapts the schema of a response, so that its type keeps unknown fields and values at every
/// depth.
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
            // progenitor would use types of other crates for formats such as dates and UUIDs, and
            // it would generate an enum that rejects values which the service adds later.
            members.remove("format");
            members.remove("enum");
        }
        _ => {}
    }
    schema
}
