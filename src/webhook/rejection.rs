//! Why a webhook delivery is rejected.

use std::{error, fmt, time::Duration};

use crate::{Error, ErrorKind};

/// Why [`Verifier::verify`](super::Verifier::verify) rejected a delivery.
///
/// A rejection contains no part of the signature or the body. The variants are for operators and
/// logs; respond to the sender in the same way for all of them.
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
    /// The delivery is genuine but was sent too long ago. It may be a replay.
    #[non_exhaustive]
    TooOld {
        /// How long ago it was sent.
        age: Duration,
        /// The maximum age.
        limit: Duration,
    },
    /// The delivery is genuine but its timestamp is too far in the future. One of the two clocks is
    /// wrong.
    #[non_exhaustive]
    FromFuture {
        /// How far the timestamp is ahead of the local clock.
        ahead: Duration,
        /// The maximum difference.
        limit: Duration,
    },
    /// The body is larger than the verifier accepts. Nothing was verified.
    #[non_exhaustive]
    TooLarge {
        /// The maximum size of a body in bytes.
        limit: usize,
    },
    /// The delivery is genuine but its body is not JSON.
    NotJson,
    /// The verifier cannot verify anything, because a setting is missing or invalid.
    #[non_exhaustive]
    Settings {
        /// What is wrong with the setting.
        problem: String,
    },
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

/// Converts to kind [`Webhook`](ErrorKind::Webhook), or to [`Settings`](ErrorKind::Settings) for
/// [`Rejection::Settings`].
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
