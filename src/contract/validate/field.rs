//! Validates a field against its limits, at every depth.

use serde_json::{Map, Number, Value};

use super::{
    super::{
        images::{Images, Place},
        operation::{Field, FieldKind, ImageEncodings},
    },
    image_content::{self, Wanted},
    problem::Problem,
};
use crate::{
    AspectRatio, ImageInput, ImageSource, Location, Violation,
    values::{hint, web_url},
};

/// Validates the values of a body.
pub(super) struct Check<'a> {
    pub(super) images: &'a Images,
    pub(super) found: Vec<Violation>,
}

impl Check<'_> {
    /// Validates the value at `place`, and what it contains.
    pub(super) fn field(&mut self, field: &Field, value: &Value, place: &Place) {
        let image = self.images.at(place);
        let problems = match image {
            Some(image) => check_image(&field.kind, image).err().into_iter().collect(),
            None => check_value(field, value),
        };
        if !problems.is_empty() {
            return self.found.extend(problems.into_iter().map(|problem| problem.at(place)));
        }
        match (&field.kind, value) {
            (FieldKind::List { items }, Value::Array(values)) => {
                for (index, value) in values.iter().enumerate() {
                    self.field(items, value, &place.index(index));
                }
            }
            (FieldKind::Object { fields }, Value::Object(members)) => {
                self.members(fields, members, place);
            }
            _ => {}
        }
    }

    /// Validates the members of an object, or of the body itself, that the contract defines.
    pub(super) fn members(
        &mut self,
        fields: &[Field],
        members: &Map<String, Value>,
        outer: &Place,
    ) {
        for field in fields {
            let place = outer.name(field.name);
            match members.get(field.name) {
                Some(value) => self.field(field, value, &place),
                None if field.required => {
                    let missing = Problem::new("missing", "is required").at(&place);
                    // A value that JSON cannot represent is already reported.
                    if !self.found.iter().any(|known| known.loc == missing.loc) {
                        self.found.push(missing);
                    }
                }
                None => {}
            }
        }
    }

    /// Validates an image in a field that the contract does not define.
    pub(super) fn unlisted(&mut self, steps: &[Location], image: &ImageInput) {
        let checked = match image.source() {
            ImageSource::Url(url) => check_url(url.reveal()),
            _ => image_content::check(image, Wanted::AnyMedia),
        };
        self.found.extend(checked.err().map(|problem| problem.of(steps)));
    }
}

/// Validates a value without what it contains. Returns all problems, unless it has the wrong type.
fn check_value(field: &Field, value: &Value) -> Vec<Problem> {
    match (&field.kind, value) {
        (FieldKind::Json, _) | (FieldKind::Object { .. }, Value::Object(_)) => Vec::new(),
        (_, Value::Null) if field.nullable => Vec::new(),
        (kind, Value::Null) => {
            let msg = "may not be null; leave it out instead";
            vec![Problem::new(type_violation(kind, value), msg)]
        }
        (FieldKind::List { .. }, Value::Array(values)) => check_length(field, values.len()),
        _ => check_scalar(field, value),
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

fn check_image(kind: &FieldKind, image: &ImageInput) -> Result<(), Problem> {
    let FieldKind::Image { encodings, .. } = kind else {
        return Err(Problem::new("type_error", "is not an image field"));
    };
    let takes_url = *encodings != ImageEncodings::Base64;
    match image.source() {
        ImageSource::Url(_) if !takes_url => {
            let msg = "must be the image itself, not a URL; give a file or its bytes";
            Err(Problem::new("value_error", msg))
        }
        ImageSource::Url(url) => check_url(url.reveal()),
        _ => image_content::check(image, Wanted::Image { or_url: takes_url }),
    }
}

fn check_url(text: &str) -> Result<(), Problem> {
    web_url::check(text).map_err(|problem| Problem::new("url_parsing", problem))
}
