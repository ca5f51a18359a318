//! A request in the form that is checked and sent, whether it came from a generated type or was put together at run time.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::{operation::Operation, validate};
use crate::{Error, Extra, ImageInput, ImageSource, Violation};

/// What [`Client::submit`](crate::Client::submit) takes: every request type of [`types`](crate::types), and [`Request`].
pub trait Submit {
    /// The request in the form that is checked and sent.
    fn into_request(self) -> Request;
}

/// A request to any operation, put together at run time: for programs that, as the command line does, learn the
/// operation and its fields from [`operations()`](crate::operations).
///
/// ```
/// use imagekiln::{Request, find_operation};
/// let operation = find_operation("gen-2-pro").unwrap();
/// let request = Request::new(operation).field("prompt", "a red fox").field("width", 1024);
/// assert!(request.validate().is_ok());
/// let request = request.field("seed", "seven").field("height", 16);
/// assert_eq!(request.validate().unwrap_err().violations().len(), 2);
/// ```
#[derive(Clone)]
pub struct Request {
    pub(crate) operation: &'static Operation,
    pub(crate) path_parameters: Vec<(String, String)>,
    /// In the order in which they were set; a name may stand twice, which is a violation.
    pub(crate) fields: Vec<(String, FieldValue)>,
    /// Faults found while the request was put together.
    pub(crate) faults: Vec<Violation>,
}

/// The value of a field; images stay apart, because they are streamed.
#[derive(Clone)]
pub(crate) enum FieldValue {
    Json(Value),
    Image(ImageInput),
}

impl Request {
    /// An empty request to `operation`.
    pub fn new(operation: &'static Operation) -> Self {
        Self { operation, path_parameters: Vec::new(), fields: Vec::new(), faults: Vec::new() }
    }

    /// The operation it goes to.
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// Sets a field; one that the contract does not name is sent as well.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.push((name.into(), FieldValue::Json(value.into())));
        self
    }

    /// Sets an image field; one that the contract does not name is sent as well.
    pub fn image(mut self, name: impl Into<String>, image: impl Into<ImageInput>) -> Self {
        self.fields.push((name.into(), FieldValue::Image(image.into())));
        self
    }

    /// Sets a parameter of the operation's path, such as `base_model`.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.path_parameter(&name.into(), value.into());
        self
    }

    /// Checks every limit of the contract and reports all violations at once. Submitting does this too.
    ///
    /// Reads the headers of image files, so it may block for as long as that takes.
    pub fn validate(&self) -> Result<(), Error> {
        self.fit(validate::violations(self))
    }

    /// Checks what has nothing to do with the contract's limits: a request that does not say what was meant is not sent
    /// even where validation is turned off.
    pub(crate) fn validate_form(&self) -> Result<(), Error> {
        self.fit(validate::malformed(self))
    }

    fn fit(&self, violations: Vec<Violation>) -> Result<(), Error> {
        match violations.is_empty() {
            true => Ok(()),
            false => Err(Error::invalid(self.operation, violations)),
        }
    }

    pub(crate) fn path_parameter(&mut self, name: &str, value: String) {
        self.path_parameters.push((name.to_owned(), value));
    }

    pub(crate) fn path_value(&self, name: &str) -> &str {
        self.path_parameters.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Puts in a field of a generated type.
    pub(crate) fn put(&mut self, name: &str, value: impl IntoFieldValue) {
        match value.into_field_value() {
            Ok(value) => self.fields.push((name.to_owned(), value)),
            Err(error) => self.faults.push(Violation::of_field(name, "value_error", error.to_string())),
        }
    }

    pub(crate) fn put_option(&mut self, name: &str, value: Option<impl IntoFieldValue>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    pub(crate) fn put_extra(&mut self, extra: Extra) {
        let extra: serde_json::Map<String, Value> = extra.into();
        self.fields.extend(extra.into_iter().map(|(name, value)| (name, FieldValue::Json(value))));
    }

    /// Whether an image is a file, so that checking the request may block.
    pub(crate) fn reads_files(&self) -> bool {
        let is_file = |value: &FieldValue| matches!(value, FieldValue::Image(image) if matches!(image.source(), ImageSource::Path(_)));
        self.fields.iter().any(|(_, value)| is_file(value))
    }
}

impl Submit for Request {
    fn into_request(self) -> Request {
        self
    }
}

/// Prints the names of the fields only: among the values are secrets and megabytes.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation.name)
            .field("fields", &self.fields.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// What a field of a generated type can become: an image, or the JSON of anything that serialises.
pub(crate) trait IntoFieldValue {
    fn into_field_value(self) -> Result<FieldValue, serde_json::Error>;
}

impl IntoFieldValue for ImageInput {
    fn into_field_value(self) -> Result<FieldValue, serde_json::Error> {
        Ok(FieldValue::Image(self))
    }
}

impl IntoFieldValue for f64 {
    fn into_field_value(self) -> Result<FieldValue, serde_json::Error> {
        // serde_json would write `null`, which the service may take for "not set".
        match serde_json::Number::from_f64(self) {
            Some(number) => Ok(FieldValue::Json(Value::Number(number))),
            None => Err(serde::ser::Error::custom(format!("{self} is no number that JSON can carry"))),
        }
    }
}

/// Marks the types of fields that are JSON; `ImageInput` serialises too, and must not go this way.
pub(crate) trait JsonValue: Serialize {}

impl JsonValue for String {}
impl JsonValue for i64 {}
impl JsonValue for bool {}
impl JsonValue for Value {}
impl JsonValue for crate::OutputFormat {}
impl JsonValue for crate::AspectRatio {}
impl JsonValue for crate::Address {}
impl JsonValue for crate::WebhookSecret {}

impl<T: JsonValue> IntoFieldValue for T {
    fn into_field_value(self) -> Result<FieldValue, serde_json::Error> {
        Ok(FieldValue::Json(serde_json::to_value(self)?))
    }
}
