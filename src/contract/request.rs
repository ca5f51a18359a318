//! A request in the form that is checked and sent, whether it came from a generated type or was
//! built at run time.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::{
    field_value::{FieldValue, IntoFieldValue},
    json::IntoJson,
    operation::Operation,
};
use crate::{Extra, ImageInput, ImageSource, Violation};

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
///
/// Two requests are equal if they say the same, in whatever order their fields were set.
/// [`to_json`](Self::to_json) and [`from_json`](Self::from_json) store a request and read it back.
#[derive(Clone)]
#[must_use = "a request does nothing until it is submitted"]
pub struct Request {
    pub(crate) operation: &'static Operation,
    pub(crate) path_parameters: Vec<(String, String)>,
    /// In the order in which they were set; a name that occurs twice is a violation.
    pub(crate) fields: Vec<(String, FieldValue)>,
    /// Faults found while the request was put together.
    pub(crate) faults: Vec<Violation>,
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

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        fn by_name<T>(values: &[(String, T)]) -> BTreeMap<&str, Vec<&T>> {
            let mut map: BTreeMap<&str, Vec<&T>> = BTreeMap::new();
            values.iter().for_each(|(name, value)| map.entry(name).or_default().push(value));
            map
        }
        self.operation.id == other.operation.id
            && by_name(&self.path_parameters) == by_name(&other.path_parameters)
            && by_name(&self.fields) == by_name(&other.fields)
            && self.faults == other.faults
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
