//! The recorded form of a request. It is built from the fields and not from the bytes on the wire,
//! so images are neither read nor kept.

use serde_json::Value;

use super::{RecordedBody, text, within_limit};
use crate::{
    AspectRatio, FieldKind, FileKind, ImageInput, ImageSource, Request,
    contract::value_at,
    transport::redaction::Redaction,
    values::{REDACTED, file_kind::HEAD},
};

pub(super) fn redacted(request: &Request, redaction: &Redaction) -> RecordedBody {
    let members = request.body.iter().map(|(name, value)| {
        let kind = request.operation().field(name).map(|field| &field.kind);
        (name.clone(), of_json(name, kind, value))
    });
    let mut body = members.collect();
    for (steps, image) in request.images.iter() {
        if let Some(value) = value_at(&mut body, steps) {
            *value = described(image).into();
        }
    }
    let mut document = Value::Object(body);
    redaction.redact_json(&mut document);
    within_limit(document)
}

fn of_json(name: &str, kind: Option<&'static FieldKind>, value: &Value) -> Value {
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        (Some(FieldKind::Secret), _) => REDACTED.into(),
        (Some(FieldKind::List { .. }), Value::Array(values)) => {
            values.iter().map(|value| of_json(name, item_of(kind), value)).collect()
        }
        (Some(FieldKind::Object { .. }), Value::Object(members)) => {
            let of_member = |(name, value): (&String, &Value)| {
                (name.clone(), of_json(name, member_of(kind, name), value))
            };
            Value::Object(members.iter().map(of_member).collect())
        }
        _ => text::replaced(name, value, &|_, text| replacement(kind, text)),
    }
}

fn item_of(kind: Option<&'static FieldKind>) -> Option<&'static FieldKind> {
    match kind {
        Some(FieldKind::List { items }) => Some(&items.kind),
        _ => None,
    }
}

fn member_of(kind: Option<&'static FieldKind>, name: &str) -> Option<&'static FieldKind> {
    match kind {
        Some(FieldKind::Object { fields }) => {
            fields.iter().find(|field| field.name == name).map(|field| &field.kind)
        }
        _ => None,
    }
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
            let kind = FileKind::of(bytes.get(..HEAD).unwrap_or(bytes));
            let kind = kind.map_or("image", FileKind::media_type);
            format!("[{kind}, {} bytes]", bytes.len())
        }
    }
}
