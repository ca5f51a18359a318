//! Validates requests against the limits of the contract, and returns all violations in the format
//! in which the service reports them.

mod image;

use std::fmt::{self, Display};

use serde_json::{Number, Value};

use super::{
    operation::{Field, FieldKind, Limits, Operation, PathParameter},
    request::Request,
};
use crate::{AspectRatio, Error, ErrorKind, Location, Violation, values::hint};

impl Request {
    /// Validates the request against all limits of the contract, and reports all violations.
    /// Submitting a request includes this validation, unless it is turned off. The violations have
    /// the kinds that the service uses.
    ///
    /// A field that the contract does not define is valid, unless the contract states that the
    /// service refuses the field.
    ///
    /// Images are validated by their first bytes, as described for
    /// [`ImageInput`](crate::ImageInput). An unreadable image file is not a violation; submitting
    /// the request fails with an error of kind [`File`](crate::ErrorKind::File).
    ///
    /// This method may block, because it reads the first bytes of image files.
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](crate::ErrorKind::Validation), with the violations.
    pub fn validate(&self) -> Result<(), Error> {
        self.check(true)
    }

    /// Validates the request. Without `with_limits`, performs only the checks that do not depend on
    /// the limits of the contract. The client performs them even if validation is turned off,
    /// because a request that fails them cannot be sent as the caller intended.
    pub(crate) fn check(&self, with_limits: bool) -> Result<(), Error> {
        let mut found = self.faults();
        nested_too_deeply(self, &mut found);
        path_parameters(self, with_limits, &mut found);
        if with_limits {
            unlisted_fields(self, &mut found);
            defined_fields(self, &mut found);
            image::size_violations(self, &mut found);
        }
        fail_if_any(self.operation, found)
    }
}

/// Fails with the violations, if there are any.
pub(super) fn fail_if_any(operation: &Operation, violations: Vec<Violation>) -> Result<(), Error> {
    if violations.is_empty() { Ok(()) } else { Err(invalid(operation.name, violations)) }
}

pub(super) fn invalid(operation: &'static str, violations: Vec<Violation>) -> Error {
    Error::new(ErrorKind::Validation, format!("the request is not valid for {operation}"))
        .with_advice("nothing was sent")
        .with_operation(operation)
        .with_violations(violations)
}

/// The maximum number of nested arrays and objects in the value of a field. `serde_json` reads at
/// most 127 levels, and the body itself is one of them.
const MAX_LEVELS: usize = 126;

fn nested_too_deeply(request: &Request, found: &mut Vec<Violation>) {
    for (name, value) in &request.body {
        if has_more_levels(value, MAX_LEVELS) {
            let msg = format!("is nested too deeply; must have at most {MAX_LEVELS} levels");
            found.push(Violation::of_field(name, "recursion_loop", msg));
        }
    }
}

fn has_more_levels(value: &Value, levels: usize) -> bool {
    let item = |item| levels == 0 || has_more_levels(item, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(item),
        Value::Object(members) => levels == 0 || members.values().any(item),
        _ => false,
    }
}

fn path_parameters(request: &Request, with_limits: bool, found: &mut Vec<Violation>) {
    let known = request.operation.path_parameters;
    for PathParameter { name, prefix, example, .. } in known {
        let violation = |kind, msg: &str| Violation::of_parameter(name, kind, msg);
        let value = request.path_value(name);
        match prefix.filter(|prefix| with_limits && !value.starts_with(prefix)) {
            _ if value.is_empty() => found.push(violation("missing", "is required")),
            _ if !is_segment(value) => found.push(violation(
                "value_error",
                "must consist of letters, digits, `-`, `.` and `_`, without consecutive dots",
            )),
            Some(prefix) => {
                let msg = format!("must start with `{prefix}`, for example `{example}`");
                let violation = violation("string_pattern_mismatch", &msg);
                // Report only one violation of a parameter that was set twice.
                if !found.iter().any(|known| known.loc == violation.loc) {
                    found.push(violation);
                }
            }
            None => {}
        }
    }
    for name in request.path_parameters.keys() {
        if !known.iter().any(|parameter| parameter.name == name) {
            found.push(Violation::of_parameter(
                name,
                "extra_forbidden",
                "is not a parameter of this operation's path",
            ));
        }
    }
}

/// Whether the value can be a segment of the path. A slash, a percent sign, or dots alone could
/// direct the request to another endpoint.
fn is_segment(value: &str) -> bool {
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    is_plain && value != "." && !value.contains("..")
}

/// The first reference image. The next ones are `input_image_2`, `input_image_3` and so on.
const REFERENCE: &str = "input_image";

/// Finds fields that the contract does not list and that the service refuses.
fn unlisted_fields(request: &Request, found: &mut Vec<Violation>) {
    let Request { operation, body, .. } = request;
    let given = body.iter().filter(|(_, value)| !value.is_null());
    for (name, _) in given.filter(|(name, _)| operation.field(name).is_none()) {
        let msg = match operation.max_reference_images {
            _ if operation.not_accepted.contains(&name.as_str()) => {
                format!("is not accepted by {operation}; remove it")
            }
            Some(most) if reference_number(name).is_some_and(|number| number > most) => {
                format!("is one of more than {most} reference images; {operation} takes {most}")
            }
            _ => continue,
        };
        found.push(Violation::of_field(name, "extra_forbidden", msg));
    }
}

/// Returns the number of a reference image field: 1 for `input_image`, 2 for `input_image_2`.
/// `None` for other fields.
fn reference_number(name: &str) -> Option<u64> {
    let rest = name.strip_prefix(REFERENCE)?;
    if rest.is_empty() {
        return Some(1);
    }
    // Check for a plus sign, because `parse` would accept it.
    rest.strip_prefix('_').filter(|digits| !digits.starts_with('+'))?.parse().ok()
}

/// Validates the fields that the contract defines, and the images in other fields.
fn defined_fields(request: &Request, found: &mut Vec<Violation>) {
    let Request { operation, body, .. } = request;
    for field in operation.fields {
        let location = [Location::name(field.name)];
        let problems = match (body.get(field.name), request.image_in(field.name)) {
            (Some(_), Some(image)) => image::check(image, Some(&field.kind)).into_iter().collect(),
            (Some(value), None) => check_value(field, value),
            (None, _) if field.required => {
                let missing = Violation::new("missing", "is required").at(&location);
                // The field is missing because its value cannot be represented in JSON, which is
                // already reported.
                let is_reported = found.iter().any(|known| known.loc == missing.loc);
                if is_reported { Vec::new() } else { vec![missing] }
            }
            (None, _) => Vec::new(),
        };
        found.extend(problems.into_iter().map(|problem| problem.at(&location)));
    }
    let is_undefined = |steps: &[Location]| match steps {
        [Location::Name(name), ..] => operation.field(name).is_none(),
        _ => false,
    };
    for (steps, image) in request.all_images().filter(|(steps, _)| is_undefined(steps)) {
        found.extend(image::check(image, None).map(|problem| problem.at(&steps)));
    }
}

/// Returns all problems of a value. If the value has the wrong type, this is the only problem.
fn check_value(field: &Field, value: &Value) -> Vec<Violation> {
    match (&field.kind, value) {
        (FieldKind::Json, _) | (FieldKind::Boolean, Value::Bool(_)) => Vec::new(),
        (_, Value::Null) if field.nullable => Vec::new(),
        (FieldKind::Integer, Value::Number(number)) if is_whole(number) => {
            check_integer(&field.limits, number)
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

/// Returns the violation for a value of the wrong type, with the kind that the service uses for it.
fn wrong_type(kind: &FieldKind, value: &Value) -> Violation {
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
        (FieldKind::Image { .. }, _) => ("string_type", "an image"),
        _ => ("string_type", "text"),
    };
    match value {
        Value::Null => Violation::new(violation, "may not be null; leave it out instead"),
        _ => Violation::new(violation, format!("must be {expected}")),
    }
}

/// Whether a number is an integer in any notation: JSON does not distinguish `7` from `7.0`.
fn is_whole(number: &Number) -> bool {
    number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Returns a violation for each limit that the value exceeds. Each entry of `limits` has the limit
/// if the value exceeds it, the kind of the violation, and words such as `at least`. `value` is the
/// beginning of the messages; it is formatted only if there is a violation.
fn exceeded<T: Display, const N: usize>(
    value: fmt::Arguments<'_>,
    limits: [(Option<T>, &'static str, &str); N],
) -> Vec<Violation> {
    let problem = |(limit, kind, what): (Option<T>, _, _)| {
        limit.map(|limit| Violation::new(kind, format!("{value} {what} {limit}")))
    };
    limits.into_iter().filter_map(problem).collect()
}

/// Validates an integer. If the contract defines neither a minimum nor a maximum, the integer must
/// fit in 64 bits.
fn check_integer(limits: &Limits, number: &Number) -> Vec<Violation> {
    const END: f64 = (1_u64 << 63) as f64;
    let value = number.as_f64().unwrap_or_default();
    let has_limits = limits.minimum.is_some() || limits.maximum.is_some();
    if has_limits || number.as_i64().is_some() || (-END < value && value < END) {
        return check_number(limits, number);
    }
    let kind = if value < 0.0 { "greater_than_equal" } else { "less_than_equal" };
    vec![Violation::new(kind, format!("is {number}; must be a 64-bit integer"))]
}

fn check_number(limits: &Limits, number: &Number) -> Vec<Violation> {
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
    // Use integer arithmetic if possible, because a floating-point number cannot represent a large
    // integer exactly.
    match number.as_i128() {
        Some(integer) if step >= 1.0 && step.fract() == 0.0 => integer % step as i128 == 0,
        _ => number.as_f64().is_some_and(|number| number % step == 0.0),
    }
}

fn check_text(field: &Field, text: &str) -> Vec<Violation> {
    let length = text.chars().count() as u64;
    let (least, most) = (field.limits.min_length, field.limits.max_length);
    let mut problems = exceeded(
        format_args!("has {length} characters; must have"),
        [
            (least.filter(|least| length < *least), "string_too_short", "at least"),
            (most.filter(|most| length > *most), "string_too_long", "at most"),
        ],
    );
    problems.extend(check_syntax(&field.kind, text));
    problems
}

fn check_syntax(kind: &FieldKind, text: &str) -> Option<Violation> {
    let wrong = |kind, msg: String| Some(Violation::new(kind, msg));
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
            Ok(_) => None,
        },
        FieldKind::Address => image::check_url(text),
        _ => None,
    }
}
