//! Validates one field against its limits.

use serde_json::Value;

use super::{
    super::{
        field_value::FieldValue,
        operation::{Field, FieldKind, ImageEncodings},
    },
    image_content::{self, Wanted},
};
use crate::{AspectRatio, ImageInput, ImageSource, Violation, values::web_url};

pub(super) fn check(field: &Field, value: &FieldValue) -> Result<(), Box<Violation>> {
    let wrong = |kind: &str, msg: String| Err(Box::new(Violation::of_field(field.name, kind, msg)));
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
            wrong("int_type", "must be an integer".to_owned())
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

fn check_number(field: &Field, number: f64) -> Result<(), Box<Violation>> {
    let wrong = |kind: &str, msg: String| Err(Box::new(Violation::of_field(field.name, kind, msg)));
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

fn check_text(field: &Field, text: &str) -> Result<(), Box<Violation>> {
    let wrong = |kind: &str, msg: String| Err(Box::new(Violation::of_field(field.name, kind, msg)));
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
) -> Result<(), Box<Violation>> {
    let takes_url = encodings != ImageEncodings::Base64;
    match image.source() {
        ImageSource::Url(_) if !takes_url => {
            let msg = "must be the image itself, not a URL; give a file or its bytes";
            Err(Box::new(Violation::of_field(field.name, "value_error", msg)))
        }
        ImageSource::Url(url) => check_url(field.name, url.reveal()),
        _ => image_content::check(field.name, image, Wanted::Image { or_url: takes_url }),
    }
}

/// Validates an image in a field that the contract does not define.
pub(super) fn check_unlisted(name: &str, image: &ImageInput) -> Result<(), Box<Violation>> {
    match image.source() {
        ImageSource::Url(url) => check_url(name, url.reveal()),
        _ => image_content::check(name, image, Wanted::AnyMedia),
    }
}

fn check_url(name: &str, text: &str) -> Result<(), Box<Violation>> {
    web_url::check(text)
        .map_err(|problem| Box::new(Violation::of_field(name, "url_parsing", problem)))
}
