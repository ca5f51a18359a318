//! A request in the form that is validated and sent. Generated types convert to it, and programs
//! can build it at run time.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::{
    field_value::{FieldValue, IntoFieldValue},
    json::IntoJson,
    operation::{FieldKind, Operation},
};
use crate::{Extra, ImageInput, ImageSource, Violation};

/// The amount of text to validate and serialize within an async task; about a millisecond of work.
const LIGHT: usize = 1024 * 1024;

/// A request that [`Client::submit`](crate::Client::submit) accepts: every request type in
/// [`types`](crate::types), and [`Request`].
pub trait Submit {
    /// Converts the request to the form that is validated and sent.
    fn into_request(self) -> Request;
}

/// A request to any operation, built at run time.
///
/// Use it in programs such as command lines that read the operations and their fields from
/// [`operations()`](crate::operations).
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
/// Two requests are equal if they have the same operation and the same values, regardless of the
/// order in which the fields were set. [`to_json`](Self::to_json) and
/// [`from_json`](Self::from_json) store and read a request.
#[derive(Clone)]
#[must_use = "a request does nothing until it is submitted"]
pub struct Request {
    pub(crate) operation: &'static Operation,
    pub(crate) path_parameters: Vec<(String, String)>,
    /// In the order in which they were set. A name that occurs twice is a violation.
    pub(crate) fields: Vec<(String, FieldValue)>,
    /// Violations found while the request was built.
    pub(crate) faults: Vec<Violation>,
}

impl Request {
    /// Creates an empty request to `operation`.
    pub fn new(operation: &'static Operation) -> Self {
        Self { operation, path_parameters: Vec::new(), fields: Vec::new(), faults: Vec::new() }
    }

    /// Returns the operation of the request.
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// Sets a field. Fields that the contract does not define are sent, too.
    ///
    /// Text in an image field is an http or https URL, like [`ImageInput::url`], or base64, like
    /// [`ImageInput::base64`]. For files, use [`image`](Self::image) with [`ImageInput::path`].
    pub fn field(mut self, name: impl Into<String>, value: impl IntoJson) -> Self {
        self.set(name.into(), value.into_json());
        self
    }

    /// Sets an image field. Fields that the contract does not define are sent, too, and may contain
    /// a video or a ZIP archive instead of an image.
    pub fn image(mut self, name: impl Into<String>, image: impl Into<ImageInput>) -> Self {
        self.fields.push((name.into(), FieldValue::Image(image.into())));
        self
    }

    /// Sets a field with a list of images.
    pub fn images(
        mut self,
        name: impl Into<String>,
        images: impl IntoIterator<Item = impl Into<ImageInput>>,
    ) -> Self {
        let images = images.into_iter().map(|image| FieldValue::Image(image.into()));
        self.fields.push((name.into(), FieldValue::list(images.collect())));
        self
    }

    /// Sets a path parameter, such as `base_model`. The value may contain letters, digits, `-`, `.`
    /// and `_`.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.path_parameter(&name.into(), value.into());
        self
    }

    /// Returns whether the request sets this field, even if its value is `null`.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|(set, _)| set == name)
    }

    /// Returns the text of a field. `None` if the field is not set, or not to text.
    ///
    /// ```
    /// use imagekiln::{Request, Submit, types::Gen2Pro};
    /// let request = Gen2Pro::new("a red fox").into_request().field("seed", 7);
    /// assert_eq!(request.text("prompt"), Some("a red fox"));
    /// assert_eq!(request.text("seed"), None);
    /// ```
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(set, _)| set == name).and_then(|(_, value)| match value {
            FieldValue::Json(Value::String(text)) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns `true` if an image of the request is a file. Otherwise, [`validate`](Self::validate)
    /// does not block.
    pub fn reads_files(&self) -> bool {
        let mut found = false;
        self.each_part(&mut |part| {
            found |= matches!(part, FieldValue::Image(image) if image.is_path());
        });
        found
    }

    /// Whether validating and serializing the request takes too long for an async task: it reads
    /// files, or contains more than 1 MiB of text.
    pub(crate) fn is_heavy(&self) -> bool {
        let mut text: usize = self.fields.iter().map(|(name, _)| name.len()).sum();
        self.each_part(&mut |part| {
            text += match part {
                FieldValue::Json(Value::String(text)) => text.len(),
                FieldValue::Image(image) => match image.source() {
                    ImageSource::Base64(text) => text.len(),
                    _ => 0,
                },
                _ => 0,
            };
        });
        self.reads_files() || text > LIGHT
    }

    fn each_part<'a>(&'a self, visit: &mut impl FnMut(&'a FieldValue)) {
        self.fields.iter().for_each(|(_, value)| value.each_part(visit));
    }

    fn set(&mut self, name: String, value: Result<Value, String>) {
        let kind = self.operation.field(&name).map_or(&FieldKind::Json, |field| &field.kind);
        let value = match value {
            Ok(value) => FieldValue::of(kind, value),
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

/// Prints only the names of the fields, because values may be secret or large.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation.name)
            .field("fields", &self.fields.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
