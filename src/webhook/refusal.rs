use std::{error, fmt, time::Duration};

use crate::{Error, ErrorKind};

/// Why a delivery was refused by [`Verifier::verify`](super::Verifier::verify). It holds nothing of
/// the signature and nothing of the body.
///
/// Refused deliveries are told apart for whoever sets a receiver up, and for logs. To the sender
/// they are all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A header that the scheme needs is missing: the delivery is not signed, or is signed in
    /// another way.
    #[non_exhaustive]
    Missing {
        /// The name of the header.
        header: String,
    },
    /// A header occurs more than once, or is not written as the scheme writes it.
    #[non_exhaustive]
    Malformed {
        /// The name of the header.
        header: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The signature, or the secret, is not that of any secret of the verifier: the delivery was
    /// forged or changed, or signed with a secret that the verifier does not have.
    #[non_exhaustive]
    Wrong {
        /// The header with the signature.
        header: String,
    },
    /// The delivery is genuine, and was sent too long ago: it may have been recorded and sent
    /// again.
    #[non_exhaustive]
    TooOld {
        /// How long ago it was sent.
        age: Duration,
        /// How old a delivery may be.
        limit: Duration,
    },
    /// The delivery is genuine, and its timestamp is too far in the future: one of the two clocks
    /// is wrong.
    #[non_exhaustive]
    FromFuture {
        /// How far ahead of this machine's clock it is.
        ahead: Duration,
        /// How far ahead it may be.
        limit: Duration,
    },
    /// The body is larger than the verifier takes. Nothing was verified.
    #[non_exhaustive]
    TooLarge {
        /// The largest body that is taken, in bytes.
        limit: usize,
    },
    /// The delivery is genuine, and its body is not JSON.
    NotJson,
    /// The verifier can't verify anything: it has no secret, or a setting that can't be used.
    #[non_exhaustive]
    Settings {
        /// What is wrong with the settings.
        problem: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { header } => write!(f, "the header {header} is missing"),
            Self::Malformed { header, problem } => write!(f, "the header {header} {problem}"),
            Self::Wrong { header } => {
                write!(f, "the header {header} does not fit any of the secrets")
            }
            Self::TooOld { age, limit } => {
                write!(f, "sent {} s ago, more than {} s", age.as_secs(), limit.as_secs())
            }
            Self::FromFuture { ahead, limit } => {
                write!(
                    f,
                    "sent {} s ahead of this machine's clock, more than {} s",
                    ahead.as_secs(),
                    limit.as_secs()
                )
            }
            Self::TooLarge { limit } => write!(f, "the body is larger than {limit} bytes"),
            Self::NotJson => f.write_str("the body is not JSON"),
            Self::Settings { problem } => f.write_str(problem),
        }
    }
}

impl error::Error for Refusal {}

/// Kind [`Webhook`](ErrorKind::Webhook), or [`Settings`](ErrorKind::Settings) if the verifier can't
/// verify anything.
impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let (kind, message) = match &refusal {
            Refusal::Settings { .. } => (ErrorKind::Settings, "the webhook verifier can't be used"),
            _ => (ErrorKind::Webhook, "the delivery of a webhook was refused"),
        };
        Error::new(kind, format!("{message}: {refusal}"))
            .with_advice(advice(&refusal))
            .with_source(refusal)
    }
}

fn advice(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Missing { .. } | Refusal::Malformed { .. } => {
            "if the service sent it, compare the settings of the verifier with the delivery's headers"
        }
        Refusal::Wrong { .. } => {
            "if the service sent it, check the secrets, and that the body is byte for byte as it was received"
        }
        Refusal::TooOld { .. } | Refusal::FromFuture { .. } => {
            "check this machine's clock, or set Verifier::max_age"
        }
        Refusal::TooLarge { .. } => "set Verifier::max_body_bytes if the service sends such bodies",
        Refusal::NotJson => "look at what the service sends, with `kiln webhook listen`",
        Refusal::Settings { .. } => "correct the settings of the verifier",
    }
}
