//! The recorded form of a response.

use serde_json::Value;

use super::{MOST_RECORDED, RecordedBody, text, within_limit};
use crate::{
    transport::{
        redaction::Redaction,
        response::{Ending, Response},
    },
    values::MAX_NAME,
};

/// The members whose text is a name that the service chose.
const NAMES: [&str; 4] = ["id", "status", "type", "loc"];

pub(super) fn redacted(response: &Response, redaction: &Redaction) -> RecordedBody {
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
    let Ok(document) = serde_json::from_slice::<Value>(body) else { return RecordedBody::NotJson };
    let mut document = text::replaced("", &document, &|name, text| {
        if NAMES.contains(&name) && text.chars().count() <= MAX_NAME {
            text.into()
        } else {
            text::url_or_text(text)
        }
    });
    redaction.redact_json(&mut document);
    within_limit(document)
}
