//! Sends requests and reads responses: TLS, hosts that may receive the key, streamed bodies,
//! damaged responses.

pub(crate) mod body;
pub(crate) mod clock;
pub(crate) mod connections;
pub(crate) mod download;
pub(crate) mod error_body;
pub(crate) mod hooks;
pub(crate) mod hosts;
pub(crate) mod http;
pub(crate) mod middleware;
pub(crate) mod observation;
pub(crate) mod path;
pub(crate) mod recording;
pub(crate) mod redaction;
mod resolver;
pub(crate) mod response;
mod salvage;
pub(crate) mod service;
pub(crate) mod tls;
