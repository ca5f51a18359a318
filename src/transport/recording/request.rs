//! The recorded form of a request. It is built from the fields and not from the bytes on the wire,
//! so images are neither read nor kept.

use serde_json::{Map, Value};

use super::{RecordedBody, text, within_limit};
use crate::{
    AspectRatio, FieldKind, FileKind, ImageInput, ImageSource, Request,
    contract::FieldValue,
    transport::redaction::Redaction,
    values::{REDACTED, file_kind::HEAD},
};

pub(super) fn redacted(request: &Request, redaction: &Redaction) -> RecordedBody {
    let members = request.fields.iter().map(|(name, value)| {
        let kind = request.operation().field(name).map(|field| &field.kind);
        let value = match value {
            FieldValue::Image(image) => described(image).into(),
            FieldValue::Json(Value::Null) => Value::Null,
            FieldValue::Json(_) if kind == Some(&FieldKind::Secret) => REDACTED.into(),
            FieldValue::Json(value) => {
                text::replaced(name, value, &|_, text| replacement(kind, text))
            }
        };
        (name.clone(), value)
    });
    let mut document = Value::Object(members.collect::<Map<_, _>>());
    redaction.redact_json(&mut document);
    within_limit(document)
}

fn replacement(kind: Option<&FieldKind>, text: &str) -> Value {
    match kind {
        Some(FieldKind::Choice { values }) if values.contains(&text) => text.into(),
        Some(FieldKind::AspectRatio { .. }) if text.parse::<AspectRatio>().is_ok() => text.into(),
        Some(FieldKind::Text | FieldKind::Choice { .. } | FieldKind::AspectRatio { .. }) => {
            text::length(text)
        }
        _ => text::url_or_text(text),
    }
}

fn described(image: &ImageInput) -> String {
    match image.source() {
        ImageSource::Path(_) => "[image from a file]".to_owned(),
        ImageSource::Base64(text) => format!("[base64, {} characters]", text.len()),
        ImageSource::Url(url) => url.to_string(),
        ImageSource::Bytes(bytes) => {
            let kind = FileKind::of(&bytes[..bytes.len().min(HEAD)]);
            let kind = kind.map_or("image", FileKind::media_type);
            format!("[{kind}, {} bytes]", bytes.len())
        }
    }
}
