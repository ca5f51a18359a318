//! Validates a field against its limits, at every depth.

use serde_json::Value;

use super::{
    super::{
        field_value::FieldValue,
        operation::{Field, FieldKind, ImageEncodings},
        similar::hint,
    },
    image_content::{self, Wanted},
    problem::Problem,
};
use crate::{AspectRatio, ImageInput, ImageSource, Location, Violation, values::web_url};

/// Validates the value at `steps`.
pub(super) fn check(
    field: &Field,
    value: &FieldValue,
    steps: &mut Vec<Location>,
    found: &mut Vec<Violation>,
) {
    if let Err(problem) = check_value(field, value) {
        return found.push(problem.at(steps));
    }
    match (&field.kind, value) {
        (FieldKind::List { items }, FieldValue::List(values)) => {
            check_items(items, values.iter(), steps, found);
        }
        (FieldKind::List { items }, FieldValue::Json(Value::Array(values))) => {
            let values: Vec<_> = values.iter().cloned().map(FieldValue::Json).collect();
            check_items(items, values.iter(), steps, found);
        }
        (FieldKind::Object { fields }, FieldValue::Object(members)) => {
            let members: Vec<_> =
                members.iter().map(|(name, value)| (name.as_str(), value)).collect();
            check_members(fields, &members, steps, found);
        }
        (FieldKind::Object { fields }, FieldValue::Json(Value::Object(members))) => {
            let values: Vec<_> = members.values().cloned().map(FieldValue::Json).collect();
            let members: Vec<_> = members.keys().map(String::as_str).zip(&values).collect();
            check_members(fields, &members, steps, found);
        }
        _ => {}
    }
}

fn check_items<'a>(
    items: &Field,
    values: impl Iterator<Item = &'a FieldValue>,
    steps: &mut Vec<Location>,
    found: &mut Vec<Violation>,
) {
    for (index, value) in values.enumerate() {
        steps.push(Location::Index(index as i64));
        check(items, value, steps, found);
        steps.pop();
    }
}

fn check_members(
    fields: &[Field],
    members: &[(&str, &FieldValue)],
    steps: &mut Vec<Location>,
    found: &mut Vec<Violation>,
) {
    for field in fields {
        steps.push(Location::Name(field.name.to_owned()));
        match members.iter().find(|(name, _)| *name == field.name) {
            Some((_, value)) => check(field, value, steps, found),
            None if field.required => {
                found.push(Problem::new("missing", "is required").at(steps));
            }
            None => {}
        }
        steps.pop();
    }
}

/// Validates a value without what it contains.
fn check_value(field: &Field, value: &FieldValue) -> Result<(), Problem> {
    let wrong = |kind, msg: &str| Err(Problem::new(kind, msg));
    match (&field.kind, value) {
        (FieldKind::Image { encodings, .. }, FieldValue::Image(image)) => {
            check_image(*encodings, image)
        }
        (_, FieldValue::Image(_)) => wrong("type_error", "is not an image field"),
        (FieldKind::Json, _) => Ok(()),
        (_, FieldValue::Json(Value::Null)) if field.nullable => Ok(()),
        (_, FieldValue::Json(Value::Null)) => {
            wrong("type_error", "may not be null; leave it out instead")
        }
        (FieldKind::List { .. }, FieldValue::List(values)) => check_length(field, values.len()),
        (FieldKind::List { .. }, FieldValue::Json(Value::Array(values))) => {
            check_length(field, values.len())
        }
        (FieldKind::List { .. }, _) => wrong("list_type", "must be a list"),
        (FieldKind::Object { .. }, FieldValue::Object(_) | FieldValue::Json(Value::Object(_))) => {
            Ok(())
        }
        (FieldKind::Object { .. }, _) => wrong("dict_type", "must be an object"),
        (_, FieldValue::Json(value)) => check_scalar(field, value),
        (_, FieldValue::List(_) | FieldValue::Object(_)) => {
            wrong("type_error", "must not contain images")
        }
    }
}

fn check_length(field: &Field, length: usize) -> Result<(), Problem> {
    let limits = &field.limits;
    if let Some(least) = limits.min_items.filter(|least| (length as u64) < *least) {
        let msg = format!("has {length} items; must have at least {least}");
        return Err(Problem::new("too_short", msg));
    }
    if let Some(most) = limits.max_items.filter(|most| (length as u64) > *most) {
        return Err(Problem::new(
            "too_long",
            format!("has {length} items; must have at most {most}"),
        ));
    }
    Ok(())
}

fn check_scalar(field: &Field, value: &Value) -> Result<(), Problem> {
    let wrong = |kind, msg: &str| Err(Problem::new(kind, msg));
    match (&field.kind, value) {
        (FieldKind::Boolean, Value::Bool(_)) => Ok(()),
        (FieldKind::Boolean, _) => wrong("bool_type", "must be true or false"),
        (FieldKind::Integer, Value::Number(number)) if number.is_i64() || number.is_u64() => {
            check_number(field, number.as_f64().unwrap_or_default())
        }
        (FieldKind::Image { .. }, _) => wrong("string_type", "must be an image"),
        (FieldKind::Integer, _) => wrong("int_type", "must be an integer"),
        (FieldKind::Number, Value::Number(number)) => {
            check_number(field, number.as_f64().unwrap_or_default())
        }
        (FieldKind::Number, _) => wrong("float_type", "must be a number"),
        (_, Value::String(text)) => check_text(field, text),
        _ => wrong("string_type", "must be text"),
    }
}

fn check_number(field: &Field, number: f64) -> Result<(), Problem> {
    let wrong = |kind, msg: String| Err(Problem::new(kind, msg));
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

fn check_text(field: &Field, text: &str) -> Result<(), Problem> {
    let wrong = |kind, msg: String| Err(Problem::new(kind, msg));
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
            let hint = hint(text, values.iter().copied());
            wrong("enum", format!("is `{text}`; must be one of {}{hint}", values.join(", ")))
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
        FieldKind::Address => check_url(text),
        _ => Ok(()),
    }
}

fn check_image(encodings: ImageEncodings, image: &ImageInput) -> Result<(), Problem> {
    let takes_url = encodings != ImageEncodings::Base64;
    match image.source() {
        ImageSource::Url(_) if !takes_url => {
            let msg = "must be the image itself, not a URL; give a file or its bytes";
            Err(Problem::new("value_error", msg))
        }
        ImageSource::Url(url) => check_url(url.reveal()),
        _ => image_content::check(image, Wanted::Image { or_url: takes_url }),
    }
}

/// Validates an image in a field that the contract does not define.
pub(super) fn check_unlisted(image: &ImageInput) -> Result<(), Problem> {
    match image.source() {
        ImageSource::Url(url) => check_url(url.reveal()),
        _ => image_content::check(image, Wanted::AnyMedia),
    }
}

fn check_url(text: &str) -> Result<(), Problem> {
    web_url::check(text).map_err(|problem| Problem::new("url_parsing", problem))
}
