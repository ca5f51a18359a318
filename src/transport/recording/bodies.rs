//! The recorded forms of requests and responses. That of a request is built from its fields and not
//! from the bytes on the wire, so images are neither read nor kept.

use serde_json::Value;

use super::RecordedBody;
use crate::{
    AspectRatio, FieldKind, FileKind, ImageInput, ImageSource, Request,
    contract::{replaced, shown_url},
    transport::{
        redaction::Redaction,
        response::{Ending, Response},
    },
    values::{MAX_NAME, file_kind::HEAD},
};

/// The maximum size of a recorded body, in bytes of JSON.
const MOST_RECORDED: usize = 256 * 1024;

/// The members of responses whose text is a name that the service chose.
const NAMES: [&str; 4] = ["id", "status", "type", "loc"];

pub(super) fn of_request(request: &Request, redaction: &Redaction) -> RecordedBody {
    let replace = |_: &str, kind: Option<&FieldKind>, text: &str| match kind {
        Some(FieldKind::Choice { values }) if values.contains(&text) => text.into(),
        Some(FieldKind::AspectRatio { .. }) if text.parse::<AspectRatio>().is_ok() => text.into(),
        Some(FieldKind::Text | FieldKind::Choice { .. } | FieldKind::AspectRatio { .. }) => {
            length(text)
        }
        _ => url_or_length(text),
    };
    recorded(request.shown(&replace, described).into(), redaction)
}

pub(super) fn of_response(response: &Response, redaction: &Redaction) -> RecordedBody {
    let body = match &response.ending {
        Ending::Complete => response.body.as_deref().unwrap_or_default(),
        Ending::TooLong => return RecordedBody::TooLarge,
        Ending::Broken(_) | Ending::Silent | Ending::TooSlow => return RecordedBody::Incomplete,
    };
    if body.is_empty() {
        return RecordedBody::Empty;
    }
    if body.len() > MOST_RECORDED {
        return RecordedBody::TooLarge;
    }
    let Ok(document) = serde_json::from_slice(body) else { return RecordedBody::NotJson };
    let replace = |name: &str, _: Option<&FieldKind>, text: &str| {
        let is_name = NAMES.contains(&name) && text.chars().count() <= MAX_NAME;
        if is_name { text.into() } else { url_or_length(text) }
    };
    recorded(replaced("", None, &document, &replace), redaction)
}

/// Removes the secrets from the document, and returns it unless it is too large.
fn recorded(mut document: Value, redaction: &Redaction) -> RecordedBody {
    redaction.redact_json(&mut document);
    match serde_json::to_vec(&document) {
        Ok(bytes) if bytes.len() <= MOST_RECORDED => RecordedBody::Json(document),
        _ => RecordedBody::TooLarge,
    }
}

fn described(image: &ImageInput) -> Value {
    let text = match image.source() {
        ImageSource::Path(_) => "[image from a file]".to_owned(),
        ImageSource::Base64(text) => format!("[base64, {} characters]", text.len()),
        ImageSource::Url(url) => url.to_string(),
        ImageSource::Bytes(bytes) => {
            let kind = FileKind::of(bytes.get(..HEAD).unwrap_or(bytes));
            let kind = kind.map_or("image", FileKind::media_type);
            format!("[{kind}, {} bytes]", bytes.len())
        }
    };
    text.into()
}

fn url_or_length(text: &str) -> Value {
    shown_url(text).unwrap_or_else(|| length(text))
}

/// Replaces a text by its length, which tests whether it fits the limits of the contract.
fn length(text: &str) -> Value {
    format!("[text, {} characters]", text.chars().count()).into()
}
