//! What can go wrong on starting. Whatever goes wrong later is an answer over HTTP.

use std::net::SocketAddr;

/// Why a simulator did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An address is not loopback, and [`Config::allow_remote`](crate::Config::allow_remote) is not set.
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
        problem: &'static str,
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
    pub(crate) fn contract(place: impl Into<String>, problem: impl ToString) -> Self {
        Self::Contract { place: place.into(), problem: problem.to_string() }
    }
}
