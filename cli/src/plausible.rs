//! Refuses requests that the contract allows, and that nobody wants to pay for: with a blank
//! prompt, with a truncated image, or without the image that the model works on.

use serde_json::{Map, Value};

use crate::{args::prompt::PROMPT, failure::Failure};
use imagekiln::{Field, FieldKind, Operation, Request};

/// Models that need images in fields that the contract does not list: the number of images, and
/// why.
const UNLISTED: [(&str, usize, &str); 7] = [
    ("gen-tools/vto-v1", 2, "it puts a garment on a person"),
    ("gen-tools/vto-v2", 2, "it puts a garment on a person"),
    ("gen-tools/outpainting-v1", 1, "it extends an image"),
    ("gen-pro-1.0-depth", 1, "it follows the depth of an image"),
    ("gen-pro-1.0-canny", 1, "it follows the edges of an image"),
    ("gen-pro-1.0-depth-finetuned", 1, "it follows the depth of an image"),
    ("gen-pro-1.0-canny-finetuned", 1, "it follows the edges of an image"),
];

/// The field of the image that a model changes. Reference images have other names.
const CHANGED: &str = "image";

/// The models that need a mask. The others take an alpha mask too.
const MASKED: [&str; 1] = ["gen-tools/erase-v1"];

/// Text of this length in an unlisted field may be base64, so it counts as an image.
const LONG_TEXT: usize = 256;

/// Checks a request before anything is paid. May block, because it reads image files.
pub fn check(request: &Request) -> Result<(), Failure> {
    let body = request.outline();
    blank_prompt(&body)?;
    request.validate()?;
    request.check_images()?;
    missing_image(request.operation(), &body)
}

/// Checks a valid request of a batch. Does not read images completely, because there may be many.
pub fn check_job(request: &Request) -> Result<(), Failure> {
    let body = request.outline();
    blank_prompt(&body)?;
    missing_image(request.operation(), &body)
}

fn blank_prompt(body: &Map<String, Value>) -> Result<(), Failure> {
    let prompt = body.get(PROMPT).and_then(Value::as_str);
    if prompt.is_some_and(|prompt| prompt.trim().is_empty()) {
        Err(Failure::request("the prompt is empty").advise(
            "nothing was sent; check that a variable or a file with the prompt is not empty",
        ))
    } else {
        Ok(())
    }
}

fn missing_image(model: &'static Operation, body: &Map<String, Value>) -> Result<(), Failure> {
    let needed = model.fields.iter().filter(|field| is_needed(model, field));
    let missing: Vec<String> = needed
        .filter(|field| body.get(field.name).is_none_or(Value::is_null))
        .map(|field| format!("--{} FILE", field.name.replace('_', "-")))
        .collect();
    if !missing.is_empty() {
        let message = format!("{model} works on an image that is not set");
        let advice = format!("nothing was sent; add {}", missing.join(" and "));
        return Err(Failure::request(message).advise(advice));
    }
    let Some((_, count, why)) = UNLISTED.iter().find(|(name, ..)| *name == model.name) else {
        return Ok(());
    };
    let given: usize = body.values().map(images).sum();
    let plural = if *count == 1 { "" } else { "s" };
    let message =
        format!("{model} needs {count} image{plural} ({why}), and the request has {given}");
    if given >= *count {
        return Ok(());
    }
    Err(Failure::request(message).advise(
        "nothing was sent; the contract does not list the names of the fields: ask the service for \
         them, and pass each image with --extra-image NAME=IMAGE",
    ))
}

fn is_needed(model: &Operation, field: &Field) -> bool {
    match field.kind {
        FieldKind::Image { mask_of: None, .. } => field.name == CHANGED,
        FieldKind::Image { mask_of: Some(_), .. } => MASKED.contains(&model.name),
        _ => false,
    }
}

/// The number of images in a value of an outline, including text that may be an image.
pub fn images(value: &Value) -> usize {
    match value {
        Value::String(text) => {
            let is_url = ["http://", "https://", "data:"].iter().any(|head| text.starts_with(head));
            usize::from(is_url || text.len() >= LONG_TEXT)
        }
        Value::Array(items) => items.iter().map(images).sum(),
        Value::Object(members) if is_image(members) => 1,
        Value::Object(members) => members.values().map(images).sum(),
        _ => 0,
    }
}

/// Whether this is how an outline describes an image.
fn is_image(members: &Map<String, Value>) -> bool {
    members.contains_key("bytes") || (members.len() == 1 && members.contains_key("url"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::model;

    #[test]
    fn every_model_of_a_table_exists() {
        for name in UNLISTED.iter().map(|(name, ..)| name).chain(&MASKED) {
            assert!(model::find(name).is_some(), "{name}");
        }
    }
}
