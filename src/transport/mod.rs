//! Sends requests and reads responses. The modules set up TLS connections, decide which hosts may
//! receive the key and deliver pictures, stream request bodies, and read responses that are
//! truncated or damaged.

pub(crate) mod body;
pub(crate) mod connections;
pub(crate) mod download;
pub(crate) mod hosts;
pub mod middleware;
pub mod recording;
pub(crate) mod redaction;
pub(crate) mod response;
mod salvage;
pub(crate) mod service;
