//! Validates requests against the limits of the contract. Returns all violations in the format in
//! which the service reports them.

mod field;
mod image;

use serde_json::Value;

use self::field::Check;
pub(super) use self::image::{head, size};
use super::{
    images::{Place, field_of},
    operation::PathParameter,
    request::Request,
};
use crate::{Error, ErrorKind, Location, Violation};

impl Request {
    /// Validates the request against all limits of the contract, and reports all violations.
    /// Submitting a request does this, too. The kinds of the violations are those of the service.
    ///
    /// A field that the contract does not define is valid, unless the contract says that the
    /// service refuses it.
    ///
    /// Images are validated by their first bytes, as described for
    /// [`ImageInput`](crate::ImageInput). An unreadable image file is not a violation; submitting
    /// the request fails with an error of kind [`File`](crate::ErrorKind::File).
    ///
    /// This method may block, because it reads the first bytes of image files. See
    /// [`reads_files`](Self::reads_files).
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](crate::ErrorKind::Validation), with the violations.
    pub fn validate(&self) -> Result<(), Error> {
        check(self, violations(self))
    }

    /// Performs only the checks that do not depend on the contract. They apply even if validation
    /// is turned off, because a request that fails them cannot be sent as the caller intended.
    pub(crate) fn validate_form(&self) -> Result<(), Error> {
        check(self, form_violations(self))
    }
}

/// What is wrong with a value, without its location.
struct Problem {
    kind: &'static str,
    msg: String,
}

impl Problem {
    fn new(kind: &'static str, msg: impl Into<String>) -> Self {
        Self { kind, msg: msg.into() }
    }

    fn at(self, steps: &[Location]) -> Violation {
        Violation::of_value(steps, self.kind, self.msg)
    }
}

fn check(request: &Request, violations: Vec<Violation>) -> Result<(), Error> {
    if violations.is_empty() { Ok(()) } else { Err(invalid(request.operation.name, violations)) }
}

pub(super) fn invalid(operation: &'static str, violations: Vec<Violation>) -> Error {
    Error::new(ErrorKind::Validation, format!("the request is not valid for {operation}"))
        .with_advice("nothing was sent")
        .with_operation(operation)
        .with_violations(violations)
}

fn violations(request: &Request) -> Vec<Violation> {
    let mut found = form_violations(request);
    unlisted_fields(request, &mut found);
    let mut check = Check { images: &request.images, found };
    check.members(request.operation.fields, &request.body, &Place::Body);
    for (steps, image) in request.images.iter() {
        if request.operation.field(field_of(steps)).is_none() {
            check.unlisted(steps, image);
        }
    }
    let mut found = check.found;
    image::size_violations(request, &mut found);
    parameter_violations(request, &mut found);
    found
}

fn parameter_violations(request: &Request, found: &mut Vec<Violation>) {
    for PathParameter { name, prefix, example, .. } in request.operation.path_parameters {
        let Some(prefix) = prefix.filter(|prefix| !request.path_value(name).starts_with(prefix))
        else {
            continue;
        };
        let msg = format!("must start with `{prefix}`, for example `{example}`");
        let violation = Violation::of_parameter(name, "string_pattern_mismatch", msg);
        // A missing parameter, for example, is reported once.
        if !found.iter().any(|known| known.loc == violation.loc) {
            found.push(violation);
        }
    }
}

/// serde_json reads 127 levels, one of which is the body itself.
const MAX_LEVELS: usize = 126;

/// Finds what prevents sending the request as the caller intended, regardless of the contract.
fn form_violations(request: &Request) -> Vec<Violation> {
    let mut found = request.faults();
    for (name, value) in &request.body {
        if has_more_levels(value, MAX_LEVELS) {
            let msg = format!("is nested too deeply; must have at most {MAX_LEVELS} levels");
            found.push(Violation::of_field(name, "recursion_loop", msg));
        }
    }
    path_parameters(request, &mut found);
    found
}

fn has_more_levels(value: &Value, levels: usize) -> bool {
    let item = |item| levels == 0 || has_more_levels(item, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(item),
        Value::Object(members) => levels == 0 || members.values().any(item),
        _ => false,
    }
}

fn path_parameters(request: &Request, found: &mut Vec<Violation>) {
    let known = request.operation.path_parameters;
    for parameter in known {
        let mut values = request.path_parameters.iter().filter(|(name, _)| name == parameter.name);
        let (kind, msg) = match (values.next(), values.next()) {
            (None, _) => ("missing", "is required"),
            (_, Some(_)) => ("set_twice", "is set twice; set it once"),
            (Some((_, value)), None) if value.is_empty() => ("missing", "is required"),
            (Some((_, value)), None) if !is_segment(value) => (
                "value_error",
                "must consist of letters, digits, `-`, `.` and `_`, without consecutive dots",
            ),
            _ => continue,
        };
        found.push(Violation::of_parameter(parameter.name, kind, msg));
    }
    for (name, _) in &request.path_parameters {
        if !known.iter().any(|parameter| parameter.name == name) {
            found.push(Violation::of_parameter(
                name,
                "extra_forbidden",
                "is not a parameter of this operation's path",
            ));
        }
    }
}

/// A slash, a percent sign or a value of dots would change the endpoint.
fn is_segment(value: &str) -> bool {
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    is_plain && value != "." && !value.contains("..")
}

/// The first reference image. The next ones are `input_image_2`, `input_image_3` and so on.
const REFERENCE: &str = "input_image";

/// Finds fields that the contract does not list and the service refuses.
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

/// Returns 1 for `input_image`, 2 for `input_image_2`.
fn reference_number(name: &str) -> Option<u64> {
    let rest = name.strip_prefix(REFERENCE)?;
    if rest.is_empty() {
        return Some(1);
    }
    // `parse` would accept a plus sign.
    rest.strip_prefix('_').filter(|digits| !digits.starts_with('+'))?.parse().ok()
}
