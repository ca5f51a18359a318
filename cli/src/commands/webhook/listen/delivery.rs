//! The outcome of a delivery: the response to the service, and the line that is printed.

use axum::http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::super::{
    MAX_BODY,
    scheme::Reading,
    verdict::{self, to_people, to_programs},
};
use crate::text::{json, sanitize::one_line};
use imagekiln::webhook::{Event, Rejection};

/// The outcome of a delivery. If it was not verified, the names of its headers are kept, never
/// their values.
pub enum Delivery {
    Verified(Event),
    Unverified { event: Event, headers: Vec<String> },
    Rejected { why: Why, headers: Vec<String> },
}

/// Why a delivery was rejected.
pub struct Why {
    status: StatusCode,
    reason: &'static str,
    message: String,
    /// The length of the body, if it was read.
    bytes: Option<usize>,
}

impl Delivery {
    pub fn read(reading: &Reading, headers: &HeaderMap, body: &[u8]) -> Self {
        let delivery = match reading {
            Reading::Verified(verifier) => verifier.verify(headers, body).map(Self::Verified),
            Reading::Unverified(verifier) => verifier
                .read_unverified(body)
                .map(|event| Self::Unverified { event, headers: names(headers) }),
        };
        delivery.unwrap_or_else(|rejection| Self::Rejected {
            why: Why::of_rejection(&rejection, body.len()),
            headers: names(headers),
        })
    }

    /// A delivery whose body could not be read, and the status code of its response.
    pub fn unread(status: StatusCode, headers: &HeaderMap) -> Self {
        Self::Rejected { why: Why::of_unread(status), headers: names(headers) }
    }

    pub fn status(&self) -> StatusCode {
        match self {
            Self::Verified(_) | Self::Unverified { .. } => StatusCode::NO_CONTENT,
            Self::Rejected { why, .. } => why.status,
        }
    }

    /// One line for people.
    pub fn to_people(&self) -> String {
        match self {
            Self::Verified(event) => format!("verified: {}", to_people(event)),
            Self::Unverified { event, headers } => {
                format!("unverified: {}; headers: {}", to_people(event), headers.join(", "))
            }
            Self::Rejected { why, headers } => {
                let bytes = why.bytes.map_or(String::new(), |bytes| format!("; {bytes} bytes"));
                format!("rejected: {}{bytes}; headers: {}", why.message, headers.join(", "))
            }
        }
    }

    /// A JSON object for programs.
    pub fn to_programs(&self) -> Value {
        let (event, verified) = match self {
            Self::Verified(_) => ("received", true),
            Self::Unverified { .. } => ("received", false),
            Self::Rejected { .. } => ("refused", false),
        };
        let details = match self {
            Self::Verified(event) => to_programs(event),
            Self::Unverified { event, headers } => {
                json::with(to_programs(event), [("headers", json!(headers))])
            }
            Self::Rejected { why, headers } => json!({
                "reason": why.reason,
                "message": why.message,
                "bytes": why.bytes,
                "headers": headers,
            }),
        };
        let mut object = json!({ "event": event, "verified": verified });
        if let (Value::Object(object), Value::Object(details)) = (&mut object, details) {
            object.extend(details);
        }
        object
    }
}

impl Why {
    fn of_rejection(rejection: &Rejection, bytes: usize) -> Self {
        let status = match rejection {
            Rejection::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Rejection::NotJson => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNAUTHORIZED,
        };
        Self {
            status,
            reason: verdict::reason(rejection),
            message: rejection.to_string(),
            bytes: Some(bytes),
        }
    }

    fn of_unread(status: StatusCode) -> Self {
        let (reason, message) = match status {
            StatusCode::PAYLOAD_TOO_LARGE => {
                ("too_large", format!("the body is larger than {MAX_BODY} bytes"))
            }
            StatusCode::REQUEST_TIMEOUT => {
                ("too_slow", "the body did not arrive in time".to_owned())
            }
            _ => ("broken_off", "the connection closed before the end of the body".to_owned()),
        };
        Self { status, reason, message, bytes: None }
    }
}

/// The names of the headers in alphabetical order. The HTTP server rejects requests with more than
/// a hundred headers.
fn names(headers: &HeaderMap) -> Vec<String> {
    let mut names: Vec<String> = headers.keys().map(|name| one_line(name.as_str())).collect();
    names.sort();
    names
}
