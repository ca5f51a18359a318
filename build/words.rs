//! Describes the limits and the default of a field in words, for rustdoc and the command line.

use std::fmt::Display;

use serde_json::Value;

use super::{
    field::{Encodings, Field, Kind},
    limits::Limits,
};

/// Returns the limits and the default of a field, for example `1.5 to 10; default 5`. Returns an
/// empty string if it has neither.
pub fn describe(field: &Field) -> String {
    let Limits { minimum, maximum, min_length, max_length, .. } = &field.limits;
    let mut parts = Vec::new();
    parts.extend(range(minimum, maximum, ""));
    if let Some(step) = field.limits.multiple_of {
        parts.push(format!("a multiple of {step}"));
    }
    parts.extend(range(min_length, max_length, " characters"));
    parts.extend(of_kind(field));
    match &field.default {
        Some(Value::String(text)) if text.is_empty() => parts.push("default empty".to_owned()),
        Some(Value::String(text)) => parts.push(format!("default {text}")),
        Some(other) => parts.push(format!("default {other}")),
        None => {}
    }
    parts.join("; ")
}

fn range<T: Display>(least: &Option<T>, most: &Option<T>, unit: &str) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (None, None) => None,
    }
}

fn of_kind(field: &Field) -> Vec<String> {
    match &field.kind {
        Kind::Choice { values, .. } => vec![format!("one of {}", values.join(", "))],
        Kind::Image { encodings, mask_of, same_size, max_megapixels } => {
            let encodings = match encodings {
                Encodings::Base64 => "an image, sent as base64",
                Encodings::Base64OrUrl => "an image, sent as base64, or its URL",
                Encodings::NotShown => "an image or its URL; the encodings taken are not shown",
            };
            let size = mask_of.as_ref().filter(|_| *same_size);
            let size = size.map(|image| format!("as large as `{image}`"));
            let area = max_megapixels.map(|area| format!("at most {area} megapixels"));
            [Some(encodings.to_owned()), size, area].into_iter().flatten().collect()
        }
        Kind::AspectRatio { narrowest, widest } => {
            vec![format!("{}:{} to {}:{}", widest.0, widest.1, narrowest.0, narrowest.1)]
        }
        _ => Vec::new(),
    }
}

/// Returns the description of a field and its limits, for rustdoc.
pub fn documentation(field: &Field) -> String {
    match describe(field).as_str() {
        "" => field.description.clone(),
        limits => format!("{} In the contract: {limits}.", field.description),
    }
}
