//! HTTP servers for one person on this machine: the page of `kiln gallery --serve`, and
//! `kiln mcp --listen`.
//!
//! Both serve only requests with a token. Other pages in the browser cannot know it, and requests
//! that come from them, or through another name of this machine, are refused.

use std::{io, net::SocketAddr};

use axum::{
    Router,
    http::{
        HeaderMap, HeaderName, StatusCode,
        header::{HOST, ORIGIN},
    },
};
use tokio::net::TcpListener;

use crate::failure::Failure;

/// The status and the text of the response to a request that is refused.
pub type Refusal = (StatusCode, String);

/// A server that listens.
pub struct Loopback {
    listener: TcpListener,
    /// What `Host` must be.
    pub host: String,
}

impl Loopback {
    /// Listens on an address of this machine. Port 0 picks a free one.
    pub async fn listen(address: SocketAddr) -> Result<Self, Failure> {
        let failed = |error| Failure::file(format!("could not listen on {address}"), error);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let host = listener.local_addr().map_err(failed)?.to_string();
        Ok(Self { listener, host })
    }

    /// Serves requests until it is dropped.
    pub async fn serve(self, router: Router) -> Result<(), Failure> {
        let served = axum::serve(self.listener, router).await;
        served.map_err(|error| Failure::other("the server stopped", &error))
    }
}

/// 128 random bits.
pub fn token() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    let failed = |_| Failure::file("could not draw a token", io::ErrorKind::Other.into());
    random.fill(&mut bytes).map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Refuses requests that another page, or another name of this machine, has sent. Returns whether a
/// page of this server has sent it, because programs send no origin.
pub fn check(headers: &HeaderMap, host: &str) -> Result<bool, Refusal> {
    let refused = |what: &str| Err((StatusCode::FORBIDDEN, format!("another {what}")));
    match header(headers, ORIGIN) {
        _ if header(headers, HOST) != Some(host) => refused("host"),
        Some(origin) if origin.strip_prefix("http://") == Some(host) => Ok(true),
        None if !headers.contains_key(ORIGIN) => Ok(false),
        _ => refused("origin"),
    }
}

/// A header, if it is text.
pub fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
