//! The schemes of signatures with their secrets and encodings, and the reasons for which a delivery
//! is rejected.

use std::{error, fmt, ops::RangeInclusive, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::StatusCode;
use sha2::{Digest, Sha256};

use crate::{Error, ErrorKind};

/// The prefix of a base64-encoded secret in Standard Webhooks.
const SECRET_PREFIX: &str = "whsec_";

/// The length of a key in bytes, according to Standard Webhooks.
const KEY_LENGTH: RangeInclusive<usize> = 24..=64;

/// A hash that is equal for repeated deliveries of the same event: of the signed message id, or of
/// the body.
pub(super) type Fingerprint = [u8; 32];

/// The result of verifying a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verified {
    /// The message id, if it was signed.
    pub(super) message_id: Option<String>,
    pub(super) fingerprint: Fingerprint,
}

impl Verified {
    /// Creates the result for a delivery with neither a signed id nor a signed body.
    pub(super) fn by_body(body: &[u8]) -> Self {
        Self { message_id: None, fingerprint: Sha256::digest(body).into() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// HMAC-SHA256 of the raw body in a header.
    HmacSha256,
    /// The secret itself in a header.
    SharedSecret,
    /// Standard Webhooks (<https://www.standardwebhooks.com>), which sign the id, the timestamp and
    /// the body.
    Standard,
}

/// Returns the keys that a secret of Standard Webhooks may stand for. A secret with the prefix
/// `whsec_` is base64. Other text is the key itself. If it is also the base64 of a key of valid
/// length, the decoded key is a second candidate, because the contract does not define which of
/// them the service uses.
pub(super) fn standard_keys(secret: &str) -> impl Iterator<Item = Vec<u8>> {
    let text = secret.strip_prefix(SECRET_PREFIX);
    let decoded = STANDARD.decode(text.unwrap_or(secret)).ok();
    let decoded = decoded.filter(|key| KEY_LENGTH.contains(&key.len()));
    decoded.into_iter().chain(text.is_none().then(|| secret.into()))
}

/// Returns what is wrong with a secret. Only Standard Webhooks define the form of a secret, so the
/// other schemes accept almost any text.
pub(super) fn secret_problem(kind: Kind, secret: &str) -> Option<&'static str> {
    let encoded = secret.strip_prefix(SECRET_PREFIX);
    let is_standard = kind == Kind::Standard;
    let lower = secret.to_ascii_lowercase();
    Some(match encoded.map(|text| STANDARD.decode(text)) {
        _ if encoded.unwrap_or(secret).trim().is_empty() => "a webhook secret is empty",
        _ if secret.starts_with('\u{feff}') => "a webhook secret begins with a byte order mark",
        Some(Err(_)) if is_standard => {
            "a webhook secret is not `whsec_` and base64 in the standard alphabet with padding"
        }
        Some(Ok(key)) if is_standard && !KEY_LENGTH.contains(&key.len()) => {
            "a webhook secret is not `whsec_` and the base64 of 24 to 64 bytes"
        }
        None if is_standard && lower.contains(SECRET_PREFIX) => {
            "a webhook secret contains `whsec_`, but does not begin with it"
        }
        None if is_standard && ["whpk_", "whsk_"].iter().any(|key| lower.starts_with(key)) => {
            "a webhook secret is a key of asymmetric signatures, which are not supported; use one \
             that begins with `whsec_`"
        }
        _ => return None,
    })
}

/// The encoding of a signature in a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// 64 lowercase hexadecimal digits.
    Hex,
    /// Base64 with the standard alphabet and padding.
    Base64,
}

impl Encoding {
    /// Decodes a signature. Fails with the problem unless the text is in canonical form.
    pub(super) fn decode(self, text: &str) -> Result<Fingerprint, &'static str> {
        match self {
            Self::Hex => {
                from_hex(text).ok_or("is not a signature of 64 lowercase hexadecimal digits")
            }
            Self::Base64 => {
                let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
                bytes.ok_or("is not a signature in base64 with padding")
            }
        }
    }
}

fn from_hex(text: &str) -> Option<Fingerprint> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 64 || !text.bytes().all(is_digit) {
        return None;
    }
    let (high, low) = text.split_at_checked(32)?;
    let bytes = |digits| Some(u128::from_str_radix(digits, 16).ok()?.to_be_bytes());
    [bytes(high)?, bytes(low)?].concat().try_into().ok()
}

/// Why [`Verifier::verify`](super::Verifier::verify) rejected a delivery.
///
/// A rejection contains no part of the signature or the body, so it can be logged. It is for
/// operators: respond to the sender with [`status`](Self::status) only, without the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// A required header is missing: the delivery is unsigned, or uses a different scheme.
    #[non_exhaustive]
    Missing {
        /// The name of the header.
        header: String,
    },
    /// A header occurs more than once, or does not have the format of the scheme.
    #[non_exhaustive]
    Malformed {
        /// The name of the header.
        header: String,
        /// What is wrong with the header.
        problem: &'static str,
    },
    /// The signature or the secret matches none of the verifier's secrets: the delivery was forged,
    /// modified, or signed with an unknown secret.
    #[non_exhaustive]
    Wrong {
        /// The header with the signature.
        header: String,
    },
    /// The signature is valid, but the delivery was sent too long ago. It may be a replay.
    #[non_exhaustive]
    TooOld {
        /// How long ago it was sent.
        age: Duration,
        /// The maximum age.
        limit: Duration,
    },
    /// The signature is valid, but the timestamp is too far in the future: the clock of the sender
    /// or the local clock is wrong.
    #[non_exhaustive]
    FromFuture {
        /// How far the timestamp is ahead of the local clock.
        ahead: Duration,
        /// The maximum difference.
        limit: Duration,
    },
    /// The body is larger than the verifier accepts. The signature was not verified.
    #[non_exhaustive]
    TooLarge {
        /// The maximum size of a body in bytes.
        limit: usize,
    },
    /// The signature is valid, but the body is not JSON.
    NotJson,
    /// The verifier cannot verify anything, because a setting is missing or invalid.
    #[non_exhaustive]
    Settings {
        /// What is wrong with the setting.
        problem: String,
    },
}

impl Rejection {
    /// Returns the status code of the response to the delivery: 401, 413 or 400.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNAUTHORIZED,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { header } => write!(f, "the header {header} is missing"),
            Self::Malformed { header, problem } => write!(f, "the header {header} {problem}"),
            Self::Wrong { header } => {
                write!(f, "the header {header} does not match any of the secrets")
            }
            Self::TooOld { age, limit } => {
                write!(f, "sent {} s ago; the limit is {} s", age.as_secs(), limit.as_secs())
            }
            Self::FromFuture { ahead, limit } => {
                let (ahead, limit) = (ahead.as_secs(), limit.as_secs());
                write!(f, "sent {ahead} s ahead of the local clock; the limit is {limit} s")
            }
            Self::TooLarge { limit } => write!(f, "the body is larger than {limit} bytes"),
            Self::NotJson => f.write_str("the body is not JSON"),
            Self::Settings { problem } => f.write_str(problem),
        }
    }
}

impl error::Error for Rejection {}

/// Converts [`Rejection::Settings`] to an error of kind [`Settings`](ErrorKind::Settings), and
/// other rejections to an error of kind [`Webhook`](ErrorKind::Webhook).
impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        let (kind, message) = match &rejection {
            Rejection::Settings { .. } => {
                (ErrorKind::Settings, "the webhook verifier is not usable")
            }
            _ => (ErrorKind::Webhook, "the webhook delivery was rejected"),
        };
        Error::new(kind, format!("{message}: {rejection}"))
            .with_advice(advice(&rejection))
            .with_function(match rejection {
                Rejection::TooOld { .. } => Some("Verifier::max_age"),
                Rejection::TooLarge { .. } => Some("Verifier::max_body_bytes"),
                _ => None,
            })
            .with_source(rejection)
    }
}

fn advice(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Missing { .. } | Rejection::Malformed { .. } => {
            "if the service sent it, compare the settings of the verifier with the headers of the \
             delivery"
        }
        Rejection::Wrong { .. } => {
            "if the service sent it, check the secrets, and that the body was not changed after it \
             was received"
        }
        Rejection::TooOld { .. } | Rejection::FromFuture { .. } => {
            "check the local clock, or allow older webhooks"
        }
        Rejection::TooLarge { .. } => "allow longer bodies if the service sends longer ones",
        Rejection::NotJson => "inspect the deliveries with `kiln webhook listen`",
        Rejection::Settings { .. } => "correct the settings of the verifier",
    }
}
