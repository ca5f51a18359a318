//! The JSON body of a submission, generated while it is sent. Images are read and encoded in
//! chunks; the length is known before the first byte.

mod file;
mod pool;
mod progress;
mod stream;
#[cfg(test)]
mod tests;

use std::{error, io, sync::Arc};

use bytes::Bytes;

pub(crate) use self::progress::Progress;
use self::{file::PlannedFile, stream::Streamed};
use crate::{
    ImageSource,
    contract::{FieldValue, Request},
    values::base64_text::{self, Sendable},
};

/// Decides whether an attempt may be sent.
pub(crate) type Permit = Box<dyn FnOnce() -> Result<(), PermitError> + Send + Sync>;

pub(crate) type PermitError = Box<dyn error::Error + Send + Sync>;

/// The plan of a submission's body, from which the body can be generated again for a retry.
pub(crate) struct BodyPlan {
    parts: Vec<Part>,
    length: u64,
}

/// A part of the body.
enum Part {
    /// Sent verbatim.
    Ready(Bytes),
    /// Encoded as base64.
    Encode(Bytes),
    /// Read and encoded as base64.
    File(Arc<PlannedFile>),
}

impl BodyPlan {
    /// Opens the files, so this may block. Errors contain the field and the file.
    pub(crate) fn new(request: &Request) -> io::Result<Self> {
        let mut parts = Vec::new();
        let mut text = Vec::new();
        write_members(&request.fields, None, &mut text, &mut parts)?;
        parts.push(Part::Ready(text.into()));
        let length = parts.iter().map(Part::length).sum();
        Ok(Self { parts, length })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Creates the body for one attempt. It must be polled within a tokio runtime. If `permit` is
    /// set and fails when the HTTP client takes the first frame, the body has no frames.
    pub(crate) fn body(
        self: &Arc<Self>,
        progress: &Progress,
        permit: Option<Permit>,
    ) -> reqwest::Body {
        reqwest::Body::wrap(Streamed::new(Arc::clone(self), progress.clone(), permit))
    }
}

/// Appends the value of the field `name`: text to `text`, and everything before and at an image to
/// `parts`.
fn write(
    name: &str,
    value: &FieldValue,
    text: &mut Vec<u8>,
    parts: &mut Vec<Part>,
) -> io::Result<()> {
    match value {
        FieldValue::Json(value) => serde_json::to_writer(text, value)?,
        FieldValue::Image(image) => match image_part(name, image.source())? {
            Value::Text(value) => {
                serde_json::to_writer(text, &*String::from_utf8_lossy(&value))?;
            }
            Value::Quoted(part) => {
                text.push(b'"');
                parts.push(Part::Ready(std::mem::take(text).into()));
                parts.push(part);
                text.push(b'"');
            }
        },
        FieldValue::List(values) => {
            text.push(b'[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                write(name, value, text, parts)?;
            }
            text.push(b']');
        }
        FieldValue::Object(members) => write_members(members, Some(name), text, parts)?,
    }
    Ok(())
}

/// Appends an object. Its members are in the field `field`, or are the fields of the request.
fn write_members(
    members: &[(String, FieldValue)],
    field: Option<&str>,
    text: &mut Vec<u8>,
    parts: &mut Vec<Part>,
) -> io::Result<()> {
    text.push(b'{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        serde_json::to_writer(&mut *text, name)?;
        text.push(b':');
        write(field.unwrap_or(name), value, text, parts)?;
    }
    text.push(b'}');
    Ok(())
}

impl Part {
    fn length(&self) -> u64 {
        match self {
            Self::Ready(text) => text.len() as u64,
            Self::Encode(bytes) => encoded(bytes.len() as u64),
            Self::File(file) => encoded(file.length()),
        }
    }
}

fn encoded(length: u64) -> u64 {
    length.div_ceil(3) * 4
}

/// The JSON form of an image.
enum Value {
    /// A JSON string with escapes.
    Text(Bytes),
    /// Text between quotes that needs no escapes.
    Quoted(Part),
}

fn image_part(name: &str, source: &ImageSource) -> io::Result<Value> {
    Ok(match source {
        ImageSource::Bytes(bytes) => Value::Quoted(Part::Encode(bytes.clone())),
        ImageSource::Path(path) => {
            Value::Quoted(Part::File(Arc::new(PlannedFile::new(name, path)?)))
        }
        ImageSource::Base64(text) => match base64_text::sendable(text) {
            Sendable::Plain(text) => Value::Quoted(Part::Ready(text)),
            Sendable::Escaped(text) => Value::Text(text),
        },
        ImageSource::Url(url) => Value::Text(Bytes::from(url.reveal().to_owned())),
    })
}
