//! Validates a field against its limits, at every depth.

use serde_json::{Number, Value};

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
    let problems = check_value(field, value);
    if !problems.is_empty() {
        return found.extend(problems.into_iter().map(|problem| problem.at(steps)));
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

/// Validates a value without what it contains. Returns all problems, unless it has the wrong type.
fn check_value(field: &Field, value: &FieldValue) -> Vec<Problem> {
    let wrong = |kind, msg: &str| vec![Problem::new(kind, msg)];
    match (&field.kind, value) {
        (FieldKind::Image { encodings, .. }, FieldValue::Image(image)) => {
            check_image(*encodings, image).err().into_iter().collect()
        }
        (_, FieldValue::Image(_)) => wrong("type_error", "is not an image field"),
        (FieldKind::Json, _) => Vec::new(),
        (_, FieldValue::Json(Value::Null)) if field.nullable => Vec::new(),
        (_, FieldValue::Json(value @ Value::Null)) => {
            wrong(type_violation(&field.kind, value), "may not be null; leave it out instead")
        }
        (FieldKind::List { .. }, FieldValue::List(values)) => check_length(field, values.len()),
        (FieldKind::List { .. }, FieldValue::Json(Value::Array(values))) => {
            check_length(field, values.len())
        }
        (FieldKind::Object { .. }, FieldValue::Object(_) | FieldValue::Json(Value::Object(_))) => {
            Vec::new()
        }
        (_, FieldValue::Json(value)) => check_scalar(field, value),
        (FieldKind::List { .. }, _) => wrong("list_type", "must be a list"),
        (FieldKind::Object { .. }, _) => wrong("dict_type", "must be an object"),
        (_, FieldValue::List(_) | FieldValue::Object(_)) => {
            wrong("type_error", "must not contain images")
        }
    }
}

/// Returns the kind with which the service reports a value of the wrong type.
fn type_violation(kind: &FieldKind, value: &Value) -> &'static str {
    match (kind, value) {
        (FieldKind::Boolean, Value::String(_)) => "bool_parsing",
        (FieldKind::Boolean, _) => "bool_type",
        (FieldKind::Integer, Value::String(_)) => "int_parsing",
        (FieldKind::Integer, Value::Number(_)) => "int_from_float",
        (FieldKind::Integer, _) => "int_type",
        (FieldKind::Number, Value::String(_)) => "float_parsing",
        (FieldKind::Number, _) => "float_type",
        (FieldKind::Choice { .. }, _) => "enum",
        (FieldKind::List { .. }, _) => "list_type",
        (FieldKind::Object { .. }, _) => "dict_type",
        _ => "string_type",
    }
}

fn check_length(field: &Field, length: usize) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(least) = field.limits.min_items.filter(|least| (length as u64) < *least) {
        let msg = format!("has {length} items; must have at least {least}");
        problems.push(Problem::new("too_short", msg));
    }
    if let Some(most) = field.limits.max_items.filter(|most| (length as u64) > *most) {
        let msg = format!("has {length} items; must have at most {most}");
        problems.push(Problem::new("too_long", msg));
    }
    problems
}

fn check_scalar(field: &Field, value: &Value) -> Vec<Problem> {
    let wrong = |msg: &str| vec![Problem::new(type_violation(&field.kind, value), msg)];
    match (&field.kind, value) {
        (FieldKind::Boolean, Value::Bool(_)) => Vec::new(),
        (FieldKind::Integer, Value::Number(number)) if is_whole(number) => {
            check_number(field, number)
        }
        (FieldKind::Number, Value::Number(number)) => check_number(field, number),
        (FieldKind::Boolean, _) => wrong("must be true or false"),
        (FieldKind::Integer, _) => wrong("must be an integer"),
        (FieldKind::Number, _) => wrong("must be a number"),
        (FieldKind::Image { .. }, _) => wrong("must be an image"),
        (FieldKind::List { .. }, _) => wrong("must be a list"),
        (FieldKind::Object { .. }, _) => wrong("must be an object"),
        (_, Value::String(text)) => check_text(field, text),
        (FieldKind::Choice { values }, _) => {
            wrong(&format!("must be one of {}", values.join(", ")))
        }
        _ => wrong("must be text"),
    }
}

/// Whether a number is an integer in any notation: JSON does not distinguish `7` from `7.0`.
fn is_whole(number: &Number) -> bool {
    number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn check_number(field: &Field, number: &Number) -> Vec<Problem> {
    let value = number.as_f64().unwrap_or_default();
    let mut problems = Vec::new();
    if let Some(minimum) = field.limits.minimum.filter(|minimum| value < *minimum) {
        let msg = format!("is {value}; must be at least {minimum}");
        problems.push(Problem::new("greater_than_equal", msg));
    }
    if let Some(maximum) = field.limits.maximum.filter(|maximum| value > *maximum) {
        let msg = format!("is {value}; must be at most {maximum}");
        problems.push(Problem::new("less_than_equal", msg));
    }
    if let Some(step) = field.limits.multiple_of.filter(|step| !is_multiple(number, *step)) {
        let msg = format!("is {value}; must be a multiple of {step}");
        problems.push(Problem::new("multiple_of", msg));
    }
    problems
}

fn is_multiple(number: &Number, step: f64) -> bool {
    // A large integer is not exact as a floating-point number.
    match number.as_i128() {
        Some(integer) if step >= 1.0 && step.fract() == 0.0 => integer % step as i128 == 0,
        _ => number.as_f64().is_some_and(|number| number % step == 0.0),
    }
}

fn check_text(field: &Field, text: &str) -> Vec<Problem> {
    let length = text.chars().count() as u64;
    let mut problems = Vec::new();
    if let Some(least) = field.limits.min_length.filter(|least| length < *least) {
        let msg = format!("has {length} characters; must have at least {least}");
        problems.push(Problem::new("string_too_short", msg));
    }
    if let Some(most) = field.limits.max_length.filter(|most| length > *most) {
        let msg = format!("has {length} characters; must have at most {most}");
        problems.push(Problem::new("string_too_long", msg));
    }
    problems.extend(check_syntax(&field.kind, text).err());
    problems
}

fn check_syntax(kind: &FieldKind, text: &str) -> Result<(), Problem> {
    let wrong = |kind, msg: String| Err(Problem::new(kind, msg));
    match kind {
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
