//! What can go wrong before and on starting. Whatever goes wrong later is an answer over HTTP.

use std::net::SocketAddr;

/// Why a simulator did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An address is not loopback, and [`Config::allow_remote`](crate::Config::allow_remote) is not
    /// set.
    #[error("{address} can be reached from other machines: set `allow_remote` if that is meant")]
    NotLoopback {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// A setting makes no sense.
    #[error("the setting `{setting}` {problem}")]
    Setting {
        /// The field of [`Config`](crate::Config).
        setting: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The address could not be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The contract that is built in cannot be served.
    #[error("the contract cannot be served: {place}: {problem}")]
    Contract {
        /// Where in the document.
        place: String,
        /// What is wrong there.
        problem: String,
    },
}

impl StartError {
    pub(crate) fn setting(setting: &'static str, problem: impl Into<String>) -> Self {
        Self::Setting { setting, problem: problem.into() }
    }

    pub(crate) fn contract(place: impl Into<String>, problem: impl ToString) -> Self {
        Self::Contract { place: place.into(), problem: problem.to_string() }
    }
}

/// What is wrong with the text of a configuration. Nothing of the text is quoted, since it may hold
/// keys.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ConfigError {
    /// Counted from one; the last line where it is not known.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

impl ConfigError {
    pub(crate) fn new(text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or(text);
        Self {
            line: before.matches('\n').count() + 1,
            problem: without_values(error.message().trim()),
        }
    }
}

/// serde quotes a text that stands where something else belongs, and that may be a key.
fn without_values(message: &str) -> String {
    let quoted = message.split_once("string \"").and_then(|(before, rest)| {
        let (_, after) = rest.rsplit_once("\", expected")?;
        Some(format!("{before}a string, expected{after}"))
    });
    quoted.unwrap_or_else(|| message.to_owned())
}
