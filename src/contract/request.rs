//! A request in the form that is checked and sent, whether it came from a generated type or was
//! built at run time.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::{form, json::IntoJson, operation::Operation, validate};
use crate::{Error, Extra, ImageInput, ImageSource, Violation};

/// How much text is checked and written within an async task: about a millisecond of work.
const LIGHT: usize = 1024 * 1024;

/// What [`Client::submit`](crate::Client::submit) takes: every request type of
/// [`types`](crate::types), and [`Request`].
pub trait Submit {
    /// The request in the form that is checked and sent.
    fn into_request(self) -> Request;
}

/// A request to any operation, built at run time: for programs that, as the command line does,
/// learn the operation and its fields from [`operations()`](crate::operations).
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
    /// In the order in which they were set; a name that occurs twice is a violation.
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
    ///
    /// The text of an image field is an http(s) URL, as of [`ImageInput::url`], or base64, as of
    /// [`ImageInput::base64`]. For a file, see [`image`](Self::image) and [`ImageInput::path`].
    pub fn field(mut self, name: impl Into<String>, value: impl IntoJson) -> Self {
        self.set(name.into(), value.into_json());
        self
    }

    /// Sets an image field; one that the contract does not name is sent as well, and may also be a
    /// video or a ZIP archive.
    pub fn image(mut self, name: impl Into<String>, image: impl Into<ImageInput>) -> Self {
        self.fields.push((name.into(), FieldValue::Image(image.into())));
        self
    }

    /// Sets a parameter of the operation's path, such as `base_model`: letters, digits, `-`, `.`
    /// and `_`.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.path_parameter(&name.into(), value.into());
        self
    }

    /// Checks every limit of the contract and reports all violations at once. Submitting does this
    /// too.
    ///
    /// Images are checked by their first bytes, as [`ImageInput`] describes. An image file that
    /// can't be read is not a violation: submitting the request fails with an error of kind
    /// [`File`](crate::ErrorKind::File).
    ///
    /// Reads the first bytes of image files, so it may block for as long as that takes: see
    /// [`reads_files`](Self::reads_files).
    pub fn validate(&self) -> Result<(), Error> {
        self.fit(validate::violations(self))
    }

    /// Checks what does not depend on the contract's limits. Such requests would not say what the
    /// caller meant, so they are not sent even if validation is turned off.
    pub(crate) fn validate_form(&self) -> Result<(), Error> {
        self.fit(form::violations(self))
    }

    /// Whether an image of the request is a file. Otherwise, [`validate`](Self::validate) does not
    /// block.
    pub fn reads_files(&self) -> bool {
        self.fields.iter().any(|(_, value)| match value {
            FieldValue::Image(image) => matches!(image.source(), ImageSource::Path(_)),
            FieldValue::Json(_) => false,
        })
    }

    /// Whether checking and writing the request takes too long for an async task: files are read,
    /// or more than 1 MiB of text is.
    pub(crate) fn is_heavy(&self) -> bool {
        let text: usize = self
            .fields
            .iter()
            .map(|(name, value)| {
                let text = match value {
                    FieldValue::Json(Value::String(text)) => text.len(),
                    FieldValue::Json(_) => 0,
                    FieldValue::Image(image) => match image.source() {
                        ImageSource::Base64(text) => text.len(),
                        _ => 0,
                    },
                };
                name.len() + text
            })
            .sum();
        self.reads_files() || text > LIGHT
    }

    fn set(&mut self, name: String, value: Result<Value, String>) {
        let value = match value {
            Ok(Value::String(text)) if self.operation.has_image_field(&name) => {
                FieldValue::Image(ImageInput::from_text(text))
            }
            Ok(value) => FieldValue::Json(value),
            Err(fault) => {
                return self.faults.push(Violation::of_field(&name, "value_error", fault));
            }
        };
        self.fields.push((name, value));
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

    /// Sets a field of a generated type.
    pub(crate) fn put(&mut self, name: &str, value: impl IntoFieldValue) {
        match value.into_field_value() {
            Ok(value) => self.fields.push((name.to_owned(), value)),
            Err(fault) => self.faults.push(Violation::of_field(name, "value_error", fault)),
        }
    }

    pub(crate) fn put_option(&mut self, name: &str, value: Option<impl IntoFieldValue>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    pub(crate) fn put_extra(&mut self, extra: Extra) {
        let (fields, faults) = extra.into_parts();
        fields.into_iter().for_each(|(name, value)| self.set(name, Ok(value)));
        faults.into_iter().for_each(|(name, fault)| self.set(name, Err(fault)));
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
/// The error is what is wrong with the value.
pub(crate) trait IntoFieldValue {
    fn into_field_value(self) -> Result<FieldValue, String>;
}

impl IntoFieldValue for ImageInput {
    fn into_field_value(self) -> Result<FieldValue, String> {
        Ok(FieldValue::Image(self))
    }
}

impl IntoFieldValue for f64 {
    fn into_field_value(self) -> Result<FieldValue, String> {
        self.into_json().map(FieldValue::Json)
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
    fn into_field_value(self) -> Result<FieldValue, String> {
        serde_json::to_value(self).map(FieldValue::Json).map_err(|error| error.to_string())
    }
}
