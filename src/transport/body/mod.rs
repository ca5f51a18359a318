//! The JSON body of a submission, generated while it is sent. Images are read and encoded in
//! chunks; the length is known before the first byte.

mod file;
mod stream;
#[cfg(test)]
mod tests;

use std::{error, io, sync::Arc};

use bytes::Bytes;
use serde_json::{Map, Value};

use self::file::PlannedFile;
pub(crate) use self::stream::{BodyFailure, Progress, StreamedBody};
use crate::{
    ImageSource,
    contract::{Images, Place, Request, field_of},
    values::base64_text::{self, Sendable},
};

/// Decides whether an attempt may be sent.
pub(crate) type Permit = Box<dyn FnOnce() -> Result<(), PermitError> + Send + Sync>;

pub(crate) type PermitError = Box<dyn error::Error + Send + Sync>;

/// The plan of a submission's body, from which the body can be generated again for a retry.
pub(crate) struct BodyPlan {
    parts: Vec<Part>,
    pub(crate) length: u64,
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
        let mut writer = Writer { images: &request.images, text: Vec::new(), parts: Vec::new() };
        writer.members(&request.body, &Place::Body)?;
        let Writer { text, mut parts, .. } = writer;
        parts.push(Part::Ready(text.into()));
        let length = parts.iter().map(Part::length).sum();
        Ok(Self { parts, length })
    }
}

/// Writes text to `text`, and everything before and at an image to `parts`.
struct Writer<'a> {
    images: &'a Images,
    text: Vec<u8>,
    parts: Vec<Part>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, place: &Place) -> io::Result<()> {
        match (self.images.at(place), value) {
            (Some(image), _) => self.image(field_of(&place.steps()), image.source())?,
            (None, Value::Array(values)) => {
                self.text.push(b'[');
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        self.text.push(b',');
                    }
                    self.value(value, &place.index(index))?;
                }
                self.text.push(b']');
            }
            (None, Value::Object(members)) => self.members(members, place)?,
            (None, value) => serde_json::to_writer(&mut self.text, value)?,
        }
        Ok(())
    }

    fn members(&mut self, members: &Map<String, Value>, place: &Place) -> io::Result<()> {
        if self.images.is_empty() {
            return Ok(serde_json::to_writer(&mut self.text, members)?);
        }
        self.text.push(b'{');
        for (index, (name, value)) in members.iter().enumerate() {
            if index > 0 {
                self.text.push(b',');
            }
            serde_json::to_writer(&mut self.text, name)?;
            self.text.push(b':');
            self.value(value, &place.name(name))?;
        }
        self.text.push(b'}');
        Ok(())
    }

    fn image(&mut self, field: &str, source: &ImageSource) -> io::Result<()> {
        let part = match source {
            ImageSource::Bytes(bytes) => Part::Encode(bytes.clone()),
            ImageSource::Path(path) => Part::File(Arc::new(PlannedFile::new(field, path)?)),
            ImageSource::Base64(text) => match base64_text::sendable(text) {
                Sendable::Plain(text) => Part::Ready(text),
                Sendable::Escaped(text) => return self.string(&String::from_utf8_lossy(&text)),
            },
            ImageSource::Url(url) => return self.string(url.reveal()),
        };
        self.text.push(b'"');
        self.parts.push(Part::Ready(std::mem::take(&mut self.text).into()));
        self.parts.push(part);
        self.text.push(b'"');
        Ok(())
    }

    fn string(&mut self, text: &str) -> io::Result<()> {
        Ok(serde_json::to_writer(&mut self.text, text)?)
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
