//! `kiln models`: lists the operations of the contract that create a task.

use clap::Command;
use serde_json::{Value, json};

use crate::{args::model, context::Context, failure::Failure};
use imagekiln::{Field, FieldKind, ImageEncodings, Operation};

pub const NAME: &str = "models";

pub fn command() -> Command {
    Command::new(NAME).about("List the models").after_help(format!(
        "IMAGES is the maximum number of reference images, if the contract states it.\n{}",
        names_with_parameters()
    ))
}

/// Explains the names that have a path parameter.
fn names_with_parameters() -> String {
    let explain = |model| Some(format!("{model} is written like {}.", model::example_name(model)?));
    model::models().filter_map(explain).collect::<Vec<_>>().join("\n")
}

pub fn execute(context: &Context) -> Result<(), Failure> {
    context.output.result(table, || model::models().map(model_json).collect())
}

fn table() -> String {
    let heading = ["MODEL", "IMAGES", "REGION", "WHAT"].map(str::to_owned);
    let rows = model::models().map(|model| {
        let images = model.max_reference_images.map_or("-".to_owned(), |count| count.to_string());
        let region = if model.regional { "regional" } else { "-" };
        [model.name.to_owned(), images, region.to_owned(), model::summary(model)]
    });
    let rows: Vec<_> = std::iter::once(heading).chain(rows).collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let (name, images, region) = (width(0), width(1), width(2));
    let lines =
        rows.iter().map(|[a, b, c, what]| format!("{a:name$}  {b:images$}  {c:region$}  {what}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn model_json(model: &'static Operation) -> Value {
    let path_parameters: Vec<&str> =
        model.path_parameters.iter().map(|parameter| parameter.name).collect();
    json!({
        "name": model.name,
        "id": model.id,
        "path": model.path,
        "summary": model.summary,
        "description": model.description,
        "deprecated": model.deprecated,
        "regional": model.regional,
        "max_reference_images": model.max_reference_images,
        "path_parameters": path_parameters,
        "all_fields_shown": model.all_fields_shown,
        "fields": model.fields.iter().map(field_json).collect::<Vec<_>>(),
        "not_shown": model.not_shown,
    })
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

fn kind_json(kind: &FieldKind) -> (&'static str, Value) {
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
