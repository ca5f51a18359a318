//! Sends requests and reads responses: TLS, hosts that may receive the key, streamed bodies,
//! damaged responses.

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
