//! Errors before and during the start. Later errors are HTTP responses.

use std::net::SocketAddr;

/// Why a simulator did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An address is not loopback, but [`Config::allow_remote`](crate::Config::allow_remote) is not
    /// set.
    #[error("{address} is reachable from other machines: set `allow_remote` if that is intended")]
    NotLoopback {
        /// The configured address.
        address: SocketAddr,
    },
    /// A setting is invalid.
    #[error("the setting `{setting}` {problem}")]
    Setting {
        /// The field of [`Config`](crate::Config).
        setting: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The simulator could not listen on the address.
    #[error("could not listen on {address}")]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The built-in contract cannot be served.
    #[error("cannot serve the contract: {place}: {problem}")]
    Contract {
        /// The location in the document.
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

/// An error in a configuration. It does not quote the text, which may contain keys.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ConfigError {
    /// The line, counted from 1; the last line if the location is not known.
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

/// Removes a string of the wrong type, which serde quotes and which may be a key.
fn without_values(message: &str) -> String {
    let quoted = message.split_once("string \"").and_then(|(before, rest)| {
        let (_, after) = rest.rsplit_once("\", expected")?;
        Some(format!("{before}a string, expected{after}"))
    });
    quoted.unwrap_or_else(|| message.to_owned())
}
