//! The stored form of a request: JSON from which the request can be restored without loss, except
//! for its secrets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    images::FieldImages,
    operation::{Field, FieldKind, Operation, find_operation, operations},
    request::{Request, SECRET, URL},
    validate::invalid,
};
use crate::{
    Error, ErrorKind, ImageInput, Violation,
    values::{MAX_NAME, hash::hex, hint, one_line, text::without_value},
};

/// The stored form of a request. The members are in sorted maps: the order of the members of a
/// `serde_json::Map` depends on the features that other crates in the program enable, and the
/// digest must not depend on it.
#[derive(Default, Serialize, Deserialize)]
#[serde(expecting = "a request")]
struct Stored {
    operation: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    path: BTreeMap<String, String>,
    #[serde(default)]
    fields: BTreeMap<String, Value>,
    /// The values of fields that the contract does not define, and of image fields whose value is
    /// not an image.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    extra: BTreeMap<String, Value>,
    /// Images and lists of images in fields for which the contract does not define this type.
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

    /// Returns the SHA-256 digest of the [stored form](Self::to_json) in lowercase hexadecimal. The
    /// digest does not depend on the webhook URL, which may differ between submissions of the same
    /// request.
    ///
    /// The [journal](crate::journal) records the digest, so a program can tell which of its
    /// requests it has submitted.
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
        self.check(false)?;
        let mut stored = Stored {
            operation: self.operation.name.to_owned(),
            path: self.path_parameters.clone(),
            ..Stored::default()
        };
        let mut body = self.body.clone();
        for (field, images) in &self.images {
            let written = images.to_json(|image| serde_json::to_value(image)).map_err(|error| {
                let violation = Violation::of_field(field, "value_error", error.to_string());
                invalid(self.operation.name, vec![violation])
            })?;
            body.insert(field.clone(), written);
        }
        for (name, value) in body {
            let field = self.operation.field(&name);
            let takes_image = field.is_some_and(Field::is_image);
            let place = match self.images.get(&name) {
                Some(FieldImages::One(_)) if takes_image => &mut stored.fields,
                Some(_) => &mut stored.extra_images,
                None if is_secret(&name, field) => continue,
                None if field.is_some() && !takes_image => &mut stored.fields,
                None => &mut stored.extra,
            };
            place.insert(name, value);
        }
        Ok(stored)
    }

    /// Reads a request from JSON in the form that [`to_json`](Self::to_json) writes. Does not
    /// validate it against the limits of the contract.
    ///
    /// The text can name local files, and the client sends their contents to the service when it
    /// submits the request. Do not use this method for untrusted text. Deserialize one of the
    /// [`types`](crate::types) instead: they refuse paths.
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
        let (mut violations, mut images) = (Vec::new(), Vec::new());
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
            if field.is_image() {
                // The value cannot be `null`, because `to_json` stores a `null` in `extra`.
                images.push((name, ImageInput::from_stored(value).map(FieldImages::One)));
            } else {
                request.body.insert(name, value);
            }
        }
        request.body.extend(self.extra);
        images.extend(self.extra_images.into_iter().map(|(name, value)| {
            let read = match value {
                Value::Array(images) => {
                    let images = images.into_iter().map(ImageInput::from_stored);
                    images.collect::<Result<_, _>>().map(FieldImages::List)
                }
                image => ImageInput::from_stored(image).map(FieldImages::One),
            };
            (name, read)
        }));
        for (name, read) in images {
            match read {
                Ok(images) => request.put_images(name, images),
                Err(problem) => violations.push(Violation::of_field(&name, "value_error", problem)),
            }
        }
        if violations.is_empty() { Ok(request) } else { Err(violations) }
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
