//! The check of a request against the contract's limits: all violations at once, in the shape in which the service
//! reports them.

use serde_json::Value;
use url::Url;

use super::{
    image_size,
    operation::{Field, FieldKind, ImageEncodings},
    request::{FieldValue, Request},
};
use crate::{AspectRatio, ImageInput, ImageSource, Violation};

/// Values that JSON can't carry, and fields that are set twice.
pub(super) fn malformed(request: &Request) -> Vec<Violation> {
    let mut found = request.faults.clone();
    for (index, (name, _)) in request.fields.iter().enumerate() {
        if is_set_before(request, index) {
            found.push(Violation::of_field(name, "set_twice", "is set twice; set it once"));
        }
    }
    found
}

fn is_set_before(request: &Request, index: usize) -> bool {
    let name = &request.fields[index].0;
    request.fields[..index].iter().any(|(earlier, _)| earlier == name)
}

pub(super) fn violations(request: &Request) -> Vec<Violation> {
    let mut found = malformed(request);
    path_parameters(request, &mut found);
    for field in request.operation.fields.iter().filter(|field| field.required) {
        if !request.fields.iter().any(|(name, _)| name == field.name)
            && !found.iter().any(|v| v.field() == Some(field.name))
        {
            found.push(Violation::of_field(field.name, "missing", "is required"));
        }
    }
    for (index, (name, value)) in request.fields.iter().enumerate() {
        if !is_set_before(request, index)
            && let Some(field) = request.operation.field(name)
            && let Err(violation) = check(field, value)
        {
            found.push(violation);
        }
    }
    image_size::violations(request, &mut found);
    found
}

fn path_parameters(request: &Request, found: &mut Vec<Violation>) {
    for parameter in request.operation.path_parameters {
        let violation = match request.path_value(parameter.name) {
            "" => ("missing", "is required"),
            // It is one segment of the path: with a slash or dots it would name another endpoint.
            value
                if !value.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
                    || value.contains("..") =>
            {
                ("value_error", "holds letters, digits, `-`, `.` and `_` only")
            }
            _ => continue,
        };
        found.push(Violation {
            loc: vec![
                crate::Location::Name("path".to_owned()),
                crate::Location::Name(parameter.name.to_owned()),
            ],
            msg: violation.1.to_owned(),
            kind: violation.0.to_owned(),
        });
    }
}

fn check(field: &Field, value: &FieldValue) -> Result<(), Violation> {
    let wrong = |kind: &str, msg: String| Err(Violation::of_field(field.name, kind, msg));
    match (&field.kind, value) {
        (FieldKind::Image { encodings, .. }, FieldValue::Image(image)) => {
            check_image(field, *encodings, image)
        }
        (_, FieldValue::Image(_)) => wrong("type_error", "is no image field".to_owned()),
        (FieldKind::Json, FieldValue::Json(_)) => Ok(()),
        (_, FieldValue::Json(Value::Null)) if field.nullable => Ok(()),
        (_, FieldValue::Json(Value::Null)) => {
            wrong("type_error", "may not be null; leave it out instead".to_owned())
        }
        (FieldKind::Boolean, FieldValue::Json(Value::Bool(_))) => Ok(()),
        (FieldKind::Boolean, FieldValue::Json(_)) => wrong("bool_type", "must be true or false".to_owned()),
        (FieldKind::Integer, FieldValue::Json(Value::Number(number)))
            if number.is_i64() || number.is_u64() =>
        {
            check_number(field, number.as_f64().unwrap_or_default())
        }
        (FieldKind::Integer, FieldValue::Json(_)) => wrong("int_type", "must be a whole number".to_owned()),
        (FieldKind::Number, FieldValue::Json(Value::Number(number))) => {
            check_number(field, number.as_f64().unwrap_or_default())
        }
        (FieldKind::Number, FieldValue::Json(_)) => wrong("float_type", "must be a number".to_owned()),
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
        return wrong("string_too_short", format!("has {length} characters; must have at least {least}"));
    }
    if let Some(most) = field.limits.max_length.filter(|most| length > *most) {
        return wrong("string_too_long", format!("has {length} characters; must have at most {most}"));
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
        FieldKind::Address if !is_web_address(text) => {
            wrong("url_parsing", "must be an http or https address".to_owned())
        }
        // An image put in as text is base64 or a URL already.
        FieldKind::Image { encodings: ImageEncodings::Base64, .. } if is_web_address(text) => {
            only_base64(field)
        }
        _ => Ok(()),
    }
}

fn check_image(field: &Field, encodings: ImageEncodings, image: &ImageInput) -> Result<(), Violation> {
    let wrong = |kind: &str, msg: &str| Err(Violation::of_field(field.name, kind, msg));
    match image.source() {
        ImageSource::Url(_) if encodings == ImageEncodings::Base64 => only_base64(field),
        ImageSource::Url(url) if !is_web_address(url.reveal()) => {
            wrong("url_parsing", "must be an http or https address")
        }
        ImageSource::Bytes(bytes) | ImageSource::Base64(bytes) if bytes.is_empty() => {
            wrong("value_error", "is an empty image")
        }
        ImageSource::Base64(text) if !text.iter().all(|byte| is_base64(*byte)) => {
            wrong("value_error", "is not base64")
        }
        _ => Ok(()),
    }
}

fn only_base64(field: &Field) -> Result<(), Violation> {
    let msg = "takes the image itself, not a URL; give a file or its bytes";
    Err(Violation::of_field(field.name, "value_error", msg))
}

/// Base64 of either alphabet, or the head of a `data:` URL in front of it. Nothing here needs escaping in JSON, which the
/// body relies on.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_:;,.".contains(&byte)
}

fn is_web_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}
