//! Errors of the start. Later errors are HTTP responses.

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
