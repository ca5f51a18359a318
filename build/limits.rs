//! Describes the limits and the default of a field, for rustdoc and the command line.

use serde_json::Value;

use super::{
    field::Field,
    kind::{Encodings, Kind},
};

/// Returns for example `1.5 to 10; default 5`, or an empty string.
pub fn describe(field: &Field) -> String {
    let limits = &field.limits;
    let mut parts = Vec::new();
    match (limits.minimum, limits.maximum) {
        (Some(minimum), Some(maximum)) => parts.push(format!("{minimum} to {maximum}")),
        (Some(minimum), None) => parts.push(format!("at least {minimum}")),
        (None, Some(maximum)) => parts.push(format!("at most {maximum}")),
        (None, None) => {}
    }
    if let Some(step) = limits.multiple_of {
        parts.push(format!("a multiple of {step}"));
    }
    match (limits.min_length, limits.max_length) {
        (Some(least), Some(most)) => parts.push(format!("{least} to {most} characters")),
        (Some(least), None) => parts.push(format!("at least {least} characters")),
        (None, Some(most)) => parts.push(format!("at most {most} characters")),
        (None, None) => {}
    }
    match &field.kind {
        Kind::Choice { values, .. } => parts.push(format!("one of {}", values.join(", "))),
        Kind::Image { encodings, mask_of, max_megapixels } => {
            parts.push(match encodings {
                Encodings::Base64 => "an image, sent as base64".to_owned(),
                Encodings::Base64OrUrl => "an image, sent as base64, or its URL".to_owned(),
                Encodings::NotShown => {
                    "an image or its URL; the encodings taken are not shown".to_owned()
                }
            });
            if let Some(image) = mask_of {
                parts.push(format!("as large as `{image}`"));
            }
            if let Some(area) = max_megapixels {
                parts.push(format!("at most {area} megapixels"));
            }
        }
        Kind::AspectRatio { narrowest, widest } => {
            parts.push(format!("{}:{} to {}:{}", widest.0, widest.1, narrowest.0, narrowest.1));
        }
        _ => {}
    }
    match &field.default {
        Some(Value::String(text)) if text.is_empty() => parts.push("default empty".to_owned()),
        Some(Value::String(text)) => parts.push(format!("default {text}")),
        Some(other) => parts.push(format!("default {other}")),
        None => {}
    }
    parts.join("; ")
}

/// Returns the description of a field and its limits, for rustdoc.
pub fn documentation(field: &Field) -> String {
    match describe(field).as_str() {
        "" => field.description.clone(),
        limits => format!("{}\n\nIn the contract: {limits}.", field.description),
    }
}
