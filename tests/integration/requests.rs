//! A minimal and a full request of every operation, derived from the table of operations.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::responses::contract;
use imagekiln::{Field, FieldKind, Operation, Request, operations};
use imagekiln_testbed::picture;

/// A gray PNG.
pub fn png(width: u32, height: u32, shade: u8) -> Vec<u8> {
    let gray = image::GrayImage::from_pixel(width, height, image::Luma([shade]));
    picture::encoded(gray, image::ImageFormat::Png)
}

pub fn submissions() -> impl Iterator<Item = &'static Operation> {
    operations().iter().filter(|operation| operation.submits)
}

/// One request of each operation with the required fields.
pub fn minimal() -> Vec<Request> {
    submissions().map(|operation| request(operation, &minimal_body(operation))).collect()
}

/// One request of each operation with every field of the contract and of its example.
pub fn full() -> Vec<Request> {
    submissions().map(|operation| request(operation, &full_body(operation))).collect()
}

pub fn request(operation: &'static Operation, body: &Map<String, Value>) -> Request {
    let mut request = Request::new(operation);
    for parameter in operation.path_parameters {
        request = request.parameter(parameter.name, parameter.example);
    }
    body.iter().fold(request, |request, (name, value)| request.field(name, value.clone()))
}

pub fn minimal_body(operation: &'static Operation) -> Map<String, Value> {
    let mut body = full_body(operation);
    body.retain(|name, _| operation.field(name).is_some_and(|field| field.required));
    body
}

pub fn full_body(operation: &'static Operation) -> Map<String, Value> {
    let mut body: Map<String, Value> =
        operation.fields.iter().map(|field| (field.name.to_owned(), sample(field))).collect();
    body.extend(example(operation));
    body
}

/// The example in the contract, which the simulator knows: it names a finetune of the simulator.
fn example(operation: &Operation) -> Map<String, Value> {
    let body = &contract()["paths"][operation.path]["post"]["requestBody"];
    body["content"]["application/json"]["example"].as_object().cloned().expect("an example")
}

/// A valid value of the field.
fn sample(field: &Field) -> Value {
    match &field.kind {
        FieldKind::Integer => json!(number(field) as i64),
        FieldKind::Number => json!(number(field)),
        FieldKind::Boolean => json!(true),
        FieldKind::Choice { values, .. } => json!(values.last()),
        FieldKind::Image { mask_of, .. } => {
            let shade = if mask_of.is_some() { 255 } else { 90 };
            json!(STANDARD.encode(png(8, 6, shade)))
        }
        FieldKind::AspectRatio { .. } => json!("16:9"),
        FieldKind::Address => json!("https://hooks.example.com/kiln?token=t"),
        FieldKind::Secret => json!("whsec"),
        FieldKind::Json => json!(64),
        _ => match field.limits.min_length {
            Some(length) => json!("a".repeat(length as usize)),
            None => json!("a fox"),
        },
    }
}

/// The smallest number, because large pictures take long to paint.
fn number(field: &Field) -> f64 {
    field.limits.minimum.or(field.limits.maximum).unwrap_or(7.0)
}
