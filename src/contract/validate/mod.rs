//! Validates requests against the limits of the contract. Returns all violations in the format in
//! which the service reports them.

mod field;
mod form;
mod image_content;
mod image_size;
mod image_whole;
mod unlisted;

use self::field::Check;
pub(super) use self::{image_content::head, image_size::size};
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
        check(self, form::violations(self))
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
    let mut found = form::violations(request);
    unlisted::violations(request, &mut found);
    let mut check = Check { images: &request.images, found };
    check.members(request.operation.fields, &request.body, &Place::Body);
    for (steps, image) in request.images.iter() {
        if request.operation.field(field_of(steps)).is_none() {
            check.unlisted(steps, image);
        }
    }
    let mut found = check.found;
    image_size::violations(request, &mut found);
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
