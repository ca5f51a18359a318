//! The check of a request against the contract's limits: all violations at once, in the shape in
//! which the service reports them.

mod field;
mod form;
mod image_content;
mod image_size;

use std::collections::HashMap;

use super::{field_value::FieldValue, request::Request};
use crate::{Error, ErrorKind, Violation};

impl Request {
    /// Checks every limit of the contract and reports all violations at once. Submitting does this
    /// too.
    ///
    /// Images are checked by their first bytes, as [`ImageInput`](crate::ImageInput) describes. An
    /// image file that can't be read is not a violation: submitting the request fails with an error
    /// of kind [`File`](crate::ErrorKind::File).
    ///
    /// Reads the first bytes of image files, so it may block: see
    /// [`reads_files`](Self::reads_files).
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](crate::ErrorKind::Validation), with the violations.
    pub fn validate(&self) -> Result<(), Error> {
        fit(self, violations(self))
    }

    /// Checks what does not depend on the contract's limits. A request that fails this check would
    /// not say what the caller meant, so it is not sent even if validation is turned off.
    pub(crate) fn validate_form(&self) -> Result<(), Error> {
        fit(self, form::violations(self))
    }
}

fn fit(request: &Request, violations: Vec<Violation>) -> Result<(), Error> {
    match violations.is_empty() {
        true => Ok(()),
        false => Err(invalid(request.operation.name, violations)),
    }
}

pub(super) fn invalid(operation: &'static str, violations: Vec<Violation>) -> Error {
    Error::new(ErrorKind::Validation, format!("the request does not fit {operation}"))
        .with_advice("nothing was sent")
        .with_operation(operation)
        .with_violations(violations)
}

fn violations(request: &Request) -> Vec<Violation> {
    let mut found = form::violations(request);
    // A field that is set twice is checked by its first value.
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
        found.extend(checked.err());
    }
    image_size::violations(request.operation, &values, &mut found);
    found
}
