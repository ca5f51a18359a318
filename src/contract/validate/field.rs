//! Validates a field against its limits, at every depth.

use std::fmt::{self, Display};

use serde_json::{Map, Number, Value};

use super::{
    super::{
        images::{Images, Place},
        operation::{Field, FieldKind, Limits},
    },
    Problem,
    image::{self, check_url},
};
use crate::{AspectRatio, ImageInput, Location, Violation, values::hint};

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
            return self
                .found
                .extend(problems.into_iter().map(|problem| problem.at(&place.steps())));
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
                    let missing = Problem::new("missing", "is required").at(&place.steps());
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
        let checked = image::check(image, None);
        self.found.extend(checked.err().map(|problem| problem.at(steps)));
    }
}

/// Validates a value without what it contains. Returns all problems, unless it has the wrong type.
fn check_value(field: &Field, value: &Value) -> Vec<Problem> {
    match (&field.kind, value) {
        (FieldKind::Json, _)
        | (FieldKind::Boolean, Value::Bool(_))
        | (FieldKind::Object { .. }, Value::Object(_)) => Vec::new(),
        (_, Value::Null) if field.nullable => Vec::new(),
        (FieldKind::List { .. }, Value::Array(values)) => check_length(&field.limits, values.len()),
        (FieldKind::Integer, Value::Number(number)) if is_whole(number) => {
            check_number(&field.limits, number)
        }
        (FieldKind::Number, Value::Number(number)) => check_number(&field.limits, number),
        (
            FieldKind::Text
            | FieldKind::Choice { .. }
            | FieldKind::AspectRatio { .. }
            | FieldKind::Address
            | FieldKind::Secret,
            Value::String(text),
        ) => check_text(field, text),
        (kind, value) => vec![wrong_type(kind, value)],
    }
}

/// The problem of a value of the wrong type, of the kind with which the service reports it.
fn wrong_type(kind: &FieldKind, value: &Value) -> Problem {
    let choices;
    let (violation, expected) = match (kind, value) {
        (FieldKind::Boolean, Value::String(_)) => ("bool_parsing", "true or false"),
        (FieldKind::Boolean, _) => ("bool_type", "true or false"),
        (FieldKind::Integer, Value::String(_)) => ("int_parsing", "an integer"),
        (FieldKind::Integer, Value::Number(_)) => ("int_from_float", "an integer"),
        (FieldKind::Integer, _) => ("int_type", "an integer"),
        (FieldKind::Number, Value::String(_)) => ("float_parsing", "a number"),
        (FieldKind::Number, _) => ("float_type", "a number"),
        (FieldKind::Choice { values }, _) => {
            choices = format!("one of {}", values.join(", "));
            ("enum", choices.as_str())
        }
        (FieldKind::List { .. }, _) => ("list_type", "a list"),
        (FieldKind::Object { .. }, _) => ("dict_type", "an object"),
        (FieldKind::Image { .. }, _) => ("string_type", "an image"),
        _ => ("string_type", "text"),
    };
    match value {
        Value::Null => Problem::new(violation, "may not be null; leave it out instead"),
        _ => Problem::new(violation, format!("must be {expected}")),
    }
}

/// Whether a number is an integer in any notation: JSON does not distinguish `7` from `7.0`.
fn is_whole(number: &Number) -> bool {
    number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Returns a problem for each limit that is exceeded, if it is, with the kind of the violation and
/// what the value must be. `value` is the beginning of the message, which a valid value does not
/// need.
fn exceeded<T: Display, const N: usize>(
    value: fmt::Arguments<'_>,
    limits: [(Option<T>, &'static str, &str); N],
) -> Vec<Problem> {
    let problem = |(limit, kind, what): (Option<T>, _, _)| {
        limit.map(|limit| Problem::new(kind, format!("{value} {what} {limit}")))
    };
    limits.into_iter().filter_map(problem).collect()
}

fn check_length(limits: &Limits, length: usize) -> Vec<Problem> {
    let shorter = |least: &u64| (length as u64) < *least;
    let longer = |most: &u64| (length as u64) > *most;
    exceeded(
        format_args!("has {length} items; must have"),
        [
            (limits.min_items.filter(shorter), "too_short", "at least"),
            (limits.max_items.filter(longer), "too_long", "at most"),
        ],
    )
}

fn check_number(limits: &Limits, number: &Number) -> Vec<Problem> {
    let value = number.as_f64().unwrap_or_default();
    let other = |step: &f64| !is_multiple(number, *step);
    exceeded(
        format_args!("is {value}; must be"),
        [
            (limits.minimum.filter(|least| value < *least), "greater_than_equal", "at least"),
            (limits.maximum.filter(|most| value > *most), "less_than_equal", "at most"),
            (limits.multiple_of.filter(other), "multiple_of", "a multiple of"),
        ],
    )
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
    let (least, most) = (field.limits.min_length, field.limits.max_length);
    let mut problems = exceeded(
        format_args!("has {length} characters; must have"),
        [
            (least.filter(|least| length < *least), "string_too_short", "at least"),
            (most.filter(|most| length > *most), "string_too_long", "at most"),
        ],
    );
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
    image::check(image, Some(*encodings))
}
