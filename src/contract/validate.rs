//! The check of a request against the contract's limits: all violations at once, in the shape in
//! which the service reports them.

use std::collections::HashMap;

use serde_json::Value;
use url::Url;

use super::{
    form,
    image_content::{self, Wanted},
    image_size,
    operation::{Field, FieldKind, ImageEncodings},
    request::{FieldValue, Request},
};
use crate::{AspectRatio, ImageInput, ImageSource, Violation};

pub(super) fn violations(request: &Request) -> Vec<Violation> {
    let mut found = form::violations(request);
    // A field that is set twice is checked by its first value.
    let mut values = HashMap::new();
    let mut in_order = Vec::new();
    for (name, value) in &request.fields {
        values.entry(name.as_str()).or_insert_with(|| {
            in_order.push((name.as_str(), value));
            value
        });
    }
    for field in request.operation.fields.iter().filter(|field| field.required) {
        if !values.contains_key(field.name) && !found.iter().any(|v| v.field() == Some(field.name))
        {
            found.push(Violation::of_field(field.name, "missing", "is required"));
        }
    }
    for (name, value) in in_order {
        let checked = match (request.operation.field(name), value) {
            (Some(field), value) => check(field, value),
            (None, FieldValue::Image(image)) => check_unlisted(name, image),
            (None, FieldValue::Json(_)) => Ok(()),
        };
        found.extend(checked.err());
    }
    image_size::violations(request.operation, &values, &mut found);
    found
}

fn check(field: &Field, value: &FieldValue) -> Result<(), Violation> {
    let wrong = |kind: &str, msg: String| Err(Violation::of_field(field.name, kind, msg));
    match (&field.kind, value) {
        (FieldKind::Image { encodings, .. }, FieldValue::Image(image)) => {
            check_image(field, *encodings, image)
        }
        (_, FieldValue::Image(_)) => wrong("type_error", "is not an image field".to_owned()),
        (FieldKind::Json, FieldValue::Json(_)) => Ok(()),
        (_, FieldValue::Json(Value::Null)) if field.nullable => Ok(()),
        (_, FieldValue::Json(Value::Null)) => {
            wrong("type_error", "may not be null; leave it out instead".to_owned())
        }
        (FieldKind::Boolean, FieldValue::Json(Value::Bool(_))) => Ok(()),
        (FieldKind::Boolean, FieldValue::Json(_)) => {
            wrong("bool_type", "must be true or false".to_owned())
        }
        (FieldKind::Integer, FieldValue::Json(Value::Number(number)))
            if number.is_i64() || number.is_u64() =>
        {
            check_number(field, number.as_f64().unwrap_or_default())
        }
        (FieldKind::Image { .. }, FieldValue::Json(_)) => {
            wrong("string_type", "must be an image".to_owned())
        }
        (FieldKind::Integer, FieldValue::Json(_)) => {
            wrong("int_type", "must be a whole number".to_owned())
        }
        (FieldKind::Number, FieldValue::Json(Value::Number(number))) => {
            check_number(field, number.as_f64().unwrap_or_default())
        }
        (FieldKind::Number, FieldValue::Json(_)) => {
            wrong("float_type", "must be a number".to_owned())
        }
        (_, FieldValue::Json(Value::String(text))) => check_text(field, text),
        (_, FieldValue::Json(_)) => wrong("string_type", "must be text".to_owned()),
    }
}

fn check_number(field: &Field, number: f64) -> Result<(), Violation> {
    let wrong = |kind: &str, msg: String| Err(Violation::of_field(field.name, kind, msg));
    if let Some(minimum) = field.limits.minimum.filter(|minimum| number < *minimum) {
        return wrong("greater_than_equal", format!("is {number}; must be at least {minimum}"));
    }
    if let Some(maximum) = field.limits.maximum.filter(|maximum| number > *maximum) {
        return wrong("less_than_equal", format!("is {number}; must be at most {maximum}"));
    }
    if let Some(step) = field.limits.multiple_of.filter(|step| number % step != 0.0) {
        return wrong("multiple_of", format!("is {number}; must be a multiple of {step}"));
    }
    Ok(())
}

fn check_text(field: &Field, text: &str) -> Result<(), Violation> {
    let wrong = |kind: &str, msg: String| Err(Violation::of_field(field.name, kind, msg));
    let length = text.chars().count() as u64;
    if let Some(least) = field.limits.min_length.filter(|least| length < *least) {
        return wrong(
            "string_too_short",
            format!("has {length} characters; must have at least {least}"),
        );
    }
    if let Some(most) = field.limits.max_length.filter(|most| length > *most) {
        return wrong(
            "string_too_long",
            format!("has {length} characters; must have at most {most}"),
        );
    }
    match &field.kind {
        FieldKind::Choice { values } if !values.contains(&text) => {
            wrong("enum", format!("is `{text}`; must be one of {}", values.join(", ")))
        }
        FieldKind::AspectRatio { narrowest, widest } => match text.parse::<AspectRatio>() {
            Err(error) => wrong("value_error", error.to_string()),
            Ok(ratio) if !ratio.is_between(*narrowest, *widest) => wrong(
                "value_error",
                format!(
                    "is {ratio}; must be between {}:{} and {}:{}",
                    widest.0, widest.1, narrowest.0, narrowest.1
                ),
            ),
            Ok(_) => Ok(()),
        },
        FieldKind::Address => check_url(field.name, text),
        _ => Ok(()),
    }
}

fn check_image(
    field: &Field,
    encodings: ImageEncodings,
    image: &ImageInput,
) -> Result<(), Violation> {
    let takes_url = encodings != ImageEncodings::Base64;
    match image.source() {
        ImageSource::Url(_) if !takes_url => {
            let msg = "takes the image itself, not a URL; give a file or its bytes";
            Err(Violation::of_field(field.name, "value_error", msg))
        }
        ImageSource::Url(url) => check_url(field.name, url.reveal()),
        _ => image_content::check(field.name, image, Wanted::Image { or_url: takes_url }),
    }
}

/// The contract does not say what such a field holds.
fn check_unlisted(name: &str, image: &ImageInput) -> Result<(), Violation> {
    match image.source() {
        ImageSource::Url(url) => check_url(name, url.reveal()),
        _ => image_content::check(name, image, Wanted::AnyMedia),
    }
}

fn check_url(name: &str, text: &str) -> Result<(), Violation> {
    let wrong = |msg: &str| Err(Violation::of_field(name, "url_parsing", msg));
    // `Url` would silently repair all of what is refused here.
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return wrong(
            "must be a URL without blanks, control characters and backslashes; percent-encode them",
        );
    }
    let has_authority = |scheme: &str| {
        text[scheme.len()..].strip_prefix("://").is_some_and(|rest| !rest.starts_with('/'))
    };
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && has_authority(url.scheme()) => {
            Ok(())
        }
        _ => wrong("must be an http or https URL"),
    }
}
