//! Reads the error message from a failed response.

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{redaction::Redaction, response::Response};
use crate::{
    Extra, Location, Violation,
    contract::read_response,
    types::HttpValidationError,
    values::{MAX_MESSAGE, MAX_NAME},
};

/// The maximum number of violations to keep. Requests have fewer fields.
pub(crate) const MOST_VIOLATIONS: usize = 100;

/// The violations of a 422 response, or an error message, without secrets that the service echoes.
/// HTML bodies are ignored, because they are not readable in a terminal.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    pub(crate) message: Option<String>,
    pub(crate) violations: Vec<Violation>,
    /// The complete response to an invalid request.
    pub(crate) response: Option<HttpValidationError>,
}

impl ErrorBody {
    pub(crate) fn of(response: &Response, redaction: &Redaction) -> Self {
        let clean = |text: &str| redaction.line(text, MAX_MESSAGE);
        let message = |text: &str| Self { message: Some(clean(text)), ..Self::default() };
        let Some(body) = response.document() else { return Self::default() };
        let mut found = match body.get("detail").unwrap_or(body) {
            Value::Array(list) => {
                let violations = list
                    .iter()
                    .filter_map(|entry| Violation::deserialize(entry).ok())
                    .take(MOST_VIOLATIONS)
                    .map(|violation| cleaned(violation, redaction))
                    .collect();
                let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
                let message = (!texts.is_empty()).then(|| clean(&texts.join("; ")));
                Self { message, violations, response: validation_response(body, redaction) }
            }
            Value::String(text) => message(text),
            other => ["message", "error", "msg"]
                .iter()
                .find_map(|name| other.get(name)?.as_str())
                .map_or_else(Self::default, message),
        };
        // It may say why in a different form.
        if response.status == StatusCode::UNPROCESSABLE_ENTITY && found.response.is_none() {
            found.response = validation_response(body, redaction);
        }
        found
    }

    /// Returns `: MESSAGE`, or an empty string.
    pub(crate) fn suffix(&self) -> String {
        self.message.as_ref().map_or_else(String::new, |message| format!(": {message}"))
    }
}

/// Formats a status code, for example `502 Bad Gateway`.
pub(crate) fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_str().to_owned(),
    }
}

fn validation_response(body: &Value, redaction: &Redaction) -> Option<HttpValidationError> {
    let mut body = body.clone();
    redaction.redact_json(&mut body);
    read_response(body).0
}

fn cleaned(violation: Violation, redaction: &Redaction) -> Violation {
    let step = |step| match step {
        Location::Name(name) => Location::Name(redaction.line(&name, MAX_NAME)),
        index @ Location::Index(_) => index,
    };
    Violation {
        loc: violation.loc.into_iter().take(MOST_VIOLATIONS).map(step).collect(),
        msg: redaction.line(&violation.msg, MAX_MESSAGE),
        kind: redaction.line(&violation.kind, MAX_NAME),
        extra: cleaned_extra(violation.extra, redaction),
    }
}

fn cleaned_extra(extra: Extra, redaction: &Redaction) -> Extra {
    let mut members = Value::Object(extra.into());
    redaction.redact_json(&mut members);
    match members {
        Value::Object(members) => members.into(),
        _ => Extra::default(),
    }
}
