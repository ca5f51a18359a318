//! What became of a delivery: the response to the service, and the line that is printed.

use axum::http::{HeaderMap, StatusCode};
use imagekiln::webhook::{Refusal, Verifier};
use serde_json::{Value, json};

use super::{
    super::{MAX_BODY, claims::Claims, refused},
    body::Unread,
};
use crate::shown::one_line;

/// What became of a delivery. Of one that was not verified, the names of the headers are known, never their values.
pub enum Delivery {
    Verified(Claims),
    Unverified { claims: Claims, headers: Vec<String> },
    Refused { why: Why, headers: Vec<String> },
}

/// Why a delivery was refused.
pub struct Why {
    status: StatusCode,
    reason: &'static str,
    message: String,
    /// The length of the body, if it was read.
    bytes: Option<usize>,
}

impl Delivery {
    /// Verifies a delivery. Without a verifier, it is enough that the body is JSON.
    pub fn of(verifier: Option<&Verifier>, pointer: Option<&str>, headers: &HeaderMap, body: &[u8]) -> Self {
        let outcome = match verifier {
            Some(verifier) => {
                verifier.verify(headers, body).map(|event| Self::Verified(Claims::verified(&event)))
            }
            None => Claims::unverified(body, pointer)
                .map(|claims| Self::Unverified { claims, headers: names(headers) })
                .ok_or(Refusal::NotJson),
        };
        outcome.unwrap_or_else(|refusal| Self::Refused {
            why: Why::of_refusal(&refusal, body.len()),
            headers: names(headers),
        })
    }

    /// A delivery whose body was not read.
    pub fn unread(why: Unread, headers: &HeaderMap) -> Self {
        Self::Refused { why: Why::of_unread(why), headers: names(headers) }
    }

    pub fn status(&self) -> StatusCode {
        match self {
            Self::Verified(_) | Self::Unverified { .. } => StatusCode::NO_CONTENT,
            Self::Refused { why, .. } => why.status,
        }
    }

    /// One line for people.
    pub fn to_people(&self) -> String {
        match self {
            Self::Verified(claims) => format!("verified: {}", claims.to_people()),
            Self::Unverified { claims, headers } => {
                format!("unverified: {}; headers: {}", claims.to_people(), headers.join(", "))
            }
            Self::Refused { why, headers } => {
                let bytes = why.bytes.map_or(String::new(), |bytes| format!("; {bytes} bytes"));
                format!("refused: {}{bytes}; headers: {}", why.message, headers.join(", "))
            }
        }
    }

    /// A JSON object for programs.
    pub fn to_programs(&self) -> Value {
        let (event, verified) = match self {
            Self::Verified(_) => ("received", true),
            Self::Unverified { .. } => ("received", false),
            Self::Refused { .. } => ("refused", false),
        };
        let details = match self {
            Self::Verified(claims) => claims.to_programs(),
            Self::Unverified { claims, headers } => {
                let mut details = claims.to_programs();
                details["headers"] = json!(headers);
                details
            }
            Self::Refused { why, headers } => json!({
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
    fn of_refusal(refusal: &Refusal, bytes: usize) -> Self {
        let status = match refusal {
            Refusal::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::NotJson => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNAUTHORIZED,
        };
        Self { status, reason: refused::reason(refusal), message: refusal.to_string(), bytes: Some(bytes) }
    }

    fn of_unread(why: Unread) -> Self {
        let (status, reason, message) = match why {
            Unread::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                format!("the body is larger than {MAX_BODY} bytes"),
            ),
            Unread::TooSlow => {
                (StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time".to_owned())
            }
            Unread::BrokenOff => {
                (StatusCode::BAD_REQUEST, "broken_off", "the body is not complete".to_owned())
            }
        };
        Self { status, reason, message, bytes: None }
    }
}

/// The names of the headers in alphabetical order. The HTTP server refuses requests with more than a hundred.
fn names(headers: &HeaderMap) -> Vec<String> {
    let mut names: Vec<String> = headers.keys().map(|name| one_line(name.as_str())).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_status_code() {
        for (why, code) in [(Unread::TooLarge, 413), (Unread::TooSlow, 408), (Unread::BrokenOff, 400)] {
            assert_eq!(Delivery::unread(why, &HeaderMap::new()).status(), code, "{why:?}");
        }
    }
}
