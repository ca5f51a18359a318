//! The stored form of a request: JSON that can be read without loss, except for secrets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    images::{Place, value_at},
    operation::{Field, FieldKind, Operation, find_operation, operations},
    request::{Request, SECRET, URL},
    validate::invalid,
};
use crate::{
    Error, ErrorKind, ImageInput, Violation,
    values::{MAX_NAME, hint, one_line, task_ref::hex, text::without_value},
};

/// Its members are sorted: whether `serde_json` keeps their order depends on the features of other
/// crates in the program.
#[derive(Default, Serialize, Deserialize)]
#[serde(expecting = "a request")]
struct Stored {
    operation: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    path: BTreeMap<String, String>,
    #[serde(default)]
    fields: BTreeMap<String, Value>,
    /// Values of fields that the contract does not define, or that have a different type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    extra: BTreeMap<String, Value>,
    /// Images, and lists of images, in fields that are not for them in the contract.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    extra_images: BTreeMap<String, Value>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

impl Request {
    /// Serializes the request to JSON that [`from_json`](Self::from_json) can read.
    ///
    /// Image files are stored as paths, and images in memory as base64. The webhook secret is not
    /// stored; the client adds [its own](crate::ClientBuilder::webhook_secret) when the request is
    /// submitted. Everything else, for example a signed webhook URL, is part of the text.
    ///
    /// ```
    /// use std::path::Path;
    /// use imagekiln::{Request, types::Gen2Pro};
    ///
    /// # fn main() -> Result<(), imagekiln::Error> {
    /// let request = Gen2Pro::new("the same fox at night").references([Path::new("fox.png")]);
    /// let text = request.to_json()?;
    /// assert_eq!(
    ///     text,
    ///     concat!(
    ///         r#"{"operation":"gen-2-pro","fields":{"#,
    ///         r#""input_image":{"path":"fox.png"},"prompt":"the same fox at night"}}"#,
    ///     )
    /// );
    /// assert_eq!(Gen2Pro::from_json(&text)?, request);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](ErrorKind::Validation): a field is set twice or has a value that JSON
    /// cannot represent, or a path is not valid Unicode.
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string(&self.stored()?).map_err(unwritable)
    }

    /// Returns the SHA-256 digest of the [stored form](Self::to_json) in lowercase hexadecimal. It
    /// does not depend on the webhook URL, which may be another one for each submission.
    ///
    /// The [journal](crate::journal) contains it, so a program can tell which of its requests a
    /// submission was for.
    ///
    /// # Errors
    ///
    /// The same errors as [`to_json`](Self::to_json).
    pub fn digest(&self) -> Result<String, Error> {
        let mut stored = self.stored()?;
        for values in [&mut stored.fields, &mut stored.extra] {
            values.remove(URL);
        }
        let json = serde_json::to_string(&stored).map_err(unwritable)?;
        Ok(hex(Sha256::new().chain_update(json)))
    }

    fn stored(&self) -> Result<Stored, Error> {
        self.validate_form()?;
        let mut stored = Stored {
            operation: self.operation.name.to_owned(),
            path: self.path_parameters.clone(),
            ..Stored::default()
        };
        let mut body = self.body.clone();
        for (steps, image) in self.images.iter() {
            let written = serde_json::to_value(image).map_err(|error| {
                let violation = Violation::new("value_error", error.to_string()).at(steps);
                invalid(self.operation.name, vec![violation])
            })?;
            if let Some(value) = value_at(&mut body, steps) {
                *value = written;
            }
        }
        for (name, value) in body {
            let field = self.operation.field(&name);
            let takes_image = |kind: &FieldKind| matches!(kind, FieldKind::Image { .. });
            let is_expected = |steps| self.operation.kind_at(steps).is_some_and(takes_image);
            let has_images = self.images.in_field(&name).next().is_some();
            let place = match field {
                _ if has_images && self.images.in_field(&name).all(is_expected) => {
                    &mut stored.fields
                }
                _ if has_images => &mut stored.extra_images,
                _ if is_secret(&name, field) => continue,
                Some(field) if !takes_image(&field.kind) => &mut stored.fields,
                _ => &mut stored.extra,
            };
            place.insert(name, value);
        }
        Ok(stored)
    }

    /// Reads a request from JSON in the form that [`to_json`](Self::to_json) writes. Does not
    /// validate it against the limits of the contract.
    ///
    /// The text can name local files, which submitting the request sends to the service. Do not use
    /// this method for untrusted text. Deserialize one of the [`types`](crate::types) instead,
    /// which refuse paths.
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](ErrorKind::Validation): the text is not a request, or it names an
    /// operation or a field that the contract does not define. The error suggests the most similar
    /// name.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let stored: Stored = serde_json::from_str(text).map_err(|error| {
            let message = format!("could not parse the request: {}", without_value(&error));
            Error::new(ErrorKind::Validation, message)
        })?;
        let operation = find_operation(&stored.operation).ok_or_else(|| {
            let names = operations().iter().map(|operation| operation.name);
            let hint = hint(&stored.operation, names);
            let name = one_line(&stored.operation, MAX_NAME);
            let message = format!("`{name}` is not an operation{hint}");
            Error::new(ErrorKind::Validation, message)
        })?;
        stored.into_request(operation).map_err(|violations| invalid(operation.name, violations))
    }
}

impl Stored {
    fn into_request(self, operation: &'static Operation) -> Result<Request, Vec<Violation>> {
        const PARTS: [&str; 5] = ["operation", "path", "fields", "extra", "extra_images"];
        let mut request = Request::new(operation);
        let mut violations = Vec::new();
        for name in self.unknown.keys() {
            violations.push(unknown(name, "a member of a stored request", PARTS.into_iter()));
        }
        request.path_parameters = self.path;
        for (name, value) in self.fields {
            let Some(field) = operation.field(&name) else {
                let names = operation.fields.iter().map(|field| field.name);
                violations.push(unknown(&name, &format!("a field of {operation}"), names));
                continue;
            };
            // An image that is a field itself cannot be null here; it is stored in `extra`.
            let place = Place::Body.name(&name);
            let value = match (&field.kind, value) {
                (FieldKind::Image { .. }, value) => read_image(&mut request, &place, value),
                (kind, value) => {
                    request.images.set_aside(kind, value, &place, &|value| match value {
                        Value::Null => Ok(Err(Value::Null)),
                        value => ImageInput::from_stored(value).map(Ok),
                    })
                }
            };
            add(&mut request, &mut violations, name, value);
        }
        request.body.extend(self.extra);
        for (name, value) in self.extra_images {
            let place = Place::Body.name(&name);
            let value = match value {
                Value::Array(images) => images
                    .into_iter()
                    .enumerate()
                    .map(|(index, image)| read_image(&mut request, &place.index(index), image))
                    .collect(),
                image => read_image(&mut request, &place, image),
            };
            add(&mut request, &mut violations, name, value);
        }
        if violations.is_empty() { Ok(request) } else { Err(violations) }
    }
}

fn read_image(request: &mut Request, place: &Place, value: Value) -> Result<Value, String> {
    Ok(request.images.put(place, ImageInput::from_stored(value)?))
}

fn add(
    request: &mut Request,
    violations: &mut Vec<Violation>,
    name: String,
    value: Result<Value, String>,
) {
    match value {
        Ok(value) => drop(request.body.insert(name, value)),
        Err(problem) => violations.push(Violation::of_field(&name, "value_error", problem)),
    }
}

fn is_secret(name: &str, field: Option<&Field>) -> bool {
    name == SECRET || field.is_some_and(|field| field.kind == FieldKind::Secret)
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Validation, format!("could not write the request as JSON: {error}"))
}

fn unknown(name: &str, what: &str, known: impl Iterator<Item = &'static str>) -> Violation {
    Violation::of_field(name, "extra_forbidden", format!("is not {what}{}", hint(name, known)))
}
