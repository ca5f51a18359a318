//! Validates requests against the limits of the contract. Returns all violations in the format in
//! which the service reports them.

mod field;
mod form;
mod image_content;
mod image_size;

use std::collections::HashMap;

use super::{field_value::FieldValue, request::Request};
use crate::{Error, ErrorKind, Violation};

impl Request {
    /// Validates the request against all limits of the contract, and reports all violations.
    /// Submitting a request does this, too.
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

fn check(request: &Request, violations: Vec<Violation>) -> Result<(), Error> {
    match violations.is_empty() {
        true => Ok(()),
        false => Err(invalid(request.operation.name, violations)),
    }
}

pub(super) fn invalid(operation: &'static str, violations: Vec<Violation>) -> Error {
    Error::new(ErrorKind::Validation, format!("the request is not valid for {operation}"))
        .with_advice("nothing was sent")
        .with_operation(operation)
        .with_violations(violations)
}

fn violations(request: &Request) -> Vec<Violation> {
    let mut found = form::violations(request);
    // If a field is set twice, validate its first value.
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
            (Some(field), value) => field::check(field, value),
            (None, FieldValue::Image(image)) => field::check_unlisted(name, image),
            (None, FieldValue::Json(_)) => Ok(()),
        };
        found.extend(checked.err().map(|violation| *violation));
    }
    image_size::violations(request.operation, &values, &mut found);
    found
}
