//! Reads the error message from a failed response.

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{redaction::Redaction, response::Response};
use crate::{
    Location, Violation,
    contract::{Unexpected, read_response},
    types::HttpValidationError,
    values::{MAX_MESSAGE, MAX_NAME},
};

/// The maximum number of violations to keep. Requests have fewer fields.
pub(crate) const MOST_VIOLATIONS: usize = 100;

/// The violations of a 422 response, or an error message, without secrets that the service echoes.
/// HTML bodies are ignored, because they are not readable in a terminal.
#[derive(Default)]
pub(crate) struct ErrorBody {
    pub(crate) message: Option<String>,
    pub(crate) violations: Vec<Violation>,
    /// The complete response to an invalid request.
    pub(crate) response: Option<HttpValidationError>,
    /// What the contract does not define in it.
    pub(crate) unexpected: Unexpected,
}

impl ErrorBody {
    pub(crate) fn of(response: &Response, redaction: &Redaction) -> Self {
        let mut found = Self::default();
        let Some(body) = &response.document else { return found };
        let message = |text: &str| Some(redaction.line(text, MAX_MESSAGE));
        let mut may_list_violations = response.status == StatusCode::UNPROCESSABLE_ENTITY;
        match body.get("detail").unwrap_or(body) {
            Value::Array(list) => {
                let violations = list.iter().filter_map(|entry| Violation::deserialize(entry).ok());
                let violations = violations.take(MOST_VIOLATIONS);
                found.violations = violations.map(|found| cleaned(found, redaction)).collect();
                let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
                found.message = if texts.is_empty() { None } else { message(&texts.join("; ")) };
                may_list_violations = true;
            }
            Value::String(text) => found.message = message(text),
            other => {
                let mut names = ["message", "error", "msg"].iter();
                let text = names.find_map(|name| other.get(name)?.as_str());
                found.message = text.and_then(message);
            }
        }
        if may_list_violations {
            let mut body = body.clone();
            redaction.redact_json(&mut body);
            (found.response, found.unexpected) = read_response(body);
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

/// Removes the secrets, and limits the lengths of the texts.
fn cleaned(violation: Violation, redaction: &Redaction) -> Violation {
    let step = |step| match step {
        Location::Name(name) => Location::Name(redaction.line(&name, MAX_NAME)),
        index @ Location::Index(_) => index,
    };
    let mut extra = json!(violation.extra);
    redaction.redact_json(&mut extra);
    Violation {
        loc: violation.loc.into_iter().take(MOST_VIOLATIONS).map(step).collect(),
        msg: redaction.line(&violation.msg, MAX_MESSAGE),
        kind: redaction.line(&violation.kind, MAX_NAME),
        extra: serde_json::from_value(extra).unwrap_or_default(),
    }
}
