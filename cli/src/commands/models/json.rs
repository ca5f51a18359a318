//! A model for programs.

use serde_json::{Value, json};

use crate::commands::tools;
use imagekiln::{Field, FieldKind, ImageEncodings, Need, NeedKind, Operation};

pub fn model_json(model: &'static Operation) -> Value {
    let path_parameters: Vec<&str> =
        model.path_parameters.iter().map(|parameter| parameter.name).collect();
    json!({
        "name": model.name,
        "id": model.id,
        "path": model.path,
        "summary": model.summary,
        "description": model.description,
        "good_for": tools::commands_for(model),
        "deprecated": model.deprecated,
        "regional": model.regional,
        "max_reference_images": model.max_reference_images,
        "max_input_megapixels": model.max_input_megapixels,
        "scaled_to_megapixels": model.scaled_to_megapixels,
        "needs": model.needs.iter().map(need_json).collect::<Vec<_>>(),
        "path_parameters": path_parameters,
        "all_fields_shown": model.all_fields_shown,
        "fields": model.fields.iter().map(field_json).collect::<Vec<_>>(),
        "not_shown": model.not_shown,
    })
}

fn need_json(need: &Need) -> Value {
    match need.kind {
        NeedKind::AnyOf { fields, unless_alpha_in, .. } => {
            json!({ "any_of": fields, "unless_alpha_in": unless_alpha_in, "why": need.why })
        }
        NeedKind::Images { count, .. } => json!({ "images": count, "why": need.why }),
        _ => json!({ "why": need.why }),
    }
}

fn field_json(field: &'static Field) -> Value {
    let (kind, details) = kind_json(&field.kind);
    let default = field.default.and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({
        "name": field.name,
        "description": field.description,
        "required": field.required,
        "nullable": field.nullable,
        "kind": kind,
        "details": details,
        "default": default,
        "minimum": field.limits.minimum,
        "maximum": field.limits.maximum,
        "multiple_of": field.limits.multiple_of,
        "min_length": field.limits.min_length,
        "max_length": field.limits.max_length,
        "min_items": field.limits.min_items,
        "max_items": field.limits.max_items,
    })
}

/// The name of a kind, and its details.
pub fn kind_json(kind: &FieldKind) -> (&'static str, Value) {
    match kind {
        FieldKind::Text => ("text", Value::Null),
        FieldKind::Integer => ("integer", Value::Null),
        FieldKind::Number => ("number", Value::Null),
        FieldKind::Boolean => ("boolean", Value::Null),
        FieldKind::Choice { values, .. } => ("choice", json!({ "values": values })),
        FieldKind::Image { encodings, mask_of, same_size, max_megapixels, .. } => {
            let takes_url = match encodings {
                ImageEncodings::Base64 => Some(false),
                ImageEncodings::Base64OrUrl => Some(true),
                _ => None,
            };
            (
                "image",
                json!({
                    "takes_url": takes_url,
                    "mask_of": mask_of,
                    "same_size": same_size,
                    "max_megapixels": max_megapixels,
                }),
            )
        }
        FieldKind::AspectRatio { narrowest, widest, .. } => {
            let ratio = |(width, height): &(u32, u32)| format!("{width}:{height}");
            ("aspect_ratio", json!({ "narrowest": ratio(narrowest), "widest": ratio(widest) }))
        }
        FieldKind::Address => ("address", Value::Null),
        FieldKind::Secret => ("secret", Value::Null),
        FieldKind::List { items, .. } => ("list", json!({ "items": field_json(items) })),
        FieldKind::Object { fields, .. } => {
            let fields: Vec<_> = fields.iter().map(field_json).collect();
            ("object", json!({ "fields": fields }))
        }
        _ => ("json", Value::Null),
    }
}
