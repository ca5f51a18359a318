//! The JSON body of a submission, generated while it is sent. Images are read and encoded in
//! chunks; the length is known before the first byte.

mod file;
mod pool;
mod progress;
mod stream;
#[cfg(test)]
mod tests;

use std::{io, sync::Arc};

use bytes::Bytes;

pub(crate) use self::progress::Progress;
use self::{file::PlannedFile, stream::Streamed};
use crate::{
    ImageSource,
    contract::{FieldValue, Request},
    values::base64_text::{self, Sendable},
};

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
        let mut text = Vec::from(b"{");
        for (index, (name, value)) in request.fields.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, name)?;
            text.push(b':');
            match value {
                FieldValue::Json(value) => serde_json::to_writer(&mut text, value)?,
                FieldValue::Image(image) => match image_part(name, image.source())? {
                    Value::Text(value) => {
                        serde_json::to_writer(&mut text, &*String::from_utf8_lossy(&value))?
                    }
                    Value::Quoted(part) => {
                        text.push(b'"');
                        parts.push(Part::Ready(std::mem::take(&mut text).into()));
                        parts.push(part);
                        text.push(b'"');
                    }
                },
            }
        }
        text.push(b'}');
        parts.push(Part::Ready(text.into()));
        let length = parts.iter().map(Part::length).sum();
        Ok(Self { parts, length })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Creates the body for one attempt. It must be polled within a tokio runtime.
    pub(crate) fn body(self: &Arc<Self>, progress: &Progress) -> reqwest::Body {
        reqwest::Body::wrap(Streamed::new(Arc::clone(self), progress.clone()))
    }
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
