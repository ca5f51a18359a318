//! Converts a request that was built at run time to a generated type.

use super::{
    field_value::{FieldValue, FromFieldValue},
    operation::Operation,
    request::Request,
    validate::invalid,
};
use crate::{Error, ErrorKind, Extra, Violation};

/// The values of a request, which the fields of a generated type take one by one.
pub(crate) struct Fields {
    operation: &'static Operation,
    path_parameters: Vec<(String, String)>,
    values: Vec<(String, FieldValue)>,
}

impl Request {
    /// Returns the values of a request to `operation`.
    pub(crate) fn into_fields(self, operation: &'static Operation) -> Result<Fields, Error> {
        if self.operation.id != operation.id {
            let message = format!("the request is for {}, not for {operation}", self.operation);
            return Err(Error::new(ErrorKind::Validation, message).with_operation(operation.name));
        }
        if !self.faults.is_empty() {
            return Err(invalid(operation.name, self.faults));
        }
        let Self { path_parameters, fields: values, .. } = self;
        Ok(Fields { operation, path_parameters, values })
    }
}

impl Fields {
    pub(crate) fn path_parameter(&self, name: &str) -> Result<String, Error> {
        let found = self.path_parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| self.missing(name))
    }

    pub(crate) fn required<T: FromFieldValue>(&mut self, name: &str) -> Result<T, Error> {
        self.optional(name).ok_or_else(|| self.missing(name))
    }

    /// Takes the value, if it is set and has the type. A value of a different type stays for
    /// [`rest`](Self::rest), and is sent unchanged.
    pub(crate) fn optional<T: FromFieldValue>(&mut self, name: &str) -> Option<T> {
        let at = self.values.iter().position(|(known, _)| known == name)?;
        let value = T::from_field_value(&self.values.get(at)?.1)?;
        self.values.remove(at);
        Some(value)
    }

    /// Returns the remaining values.
    pub(crate) fn rest(self) -> Result<Extra, Error> {
        let mut extra = Extra::default();
        for (name, value) in self.values {
            match value {
                FieldValue::Json(value) => extra.set(name, value),
                _ => {
                    let msg = "contains an image, but the type has no such field for images";
                    let violation = Violation::of_field(&name, "extra_forbidden", msg);
                    return Err(invalid(self.operation.name, vec![violation]));
                }
            }
        }
        Ok(extra)
    }

    fn missing(&self, name: &str) -> Error {
        let violation = Violation::of_field(name, "missing", "is required");
        invalid(self.operation.name, vec![violation])
    }
}
