//! HTTP servers for one person on this machine: the page of `kiln gallery --serve`, and
//! `kiln mcp --listen`.
//!
//! Both serve only requests that contain a token, which other pages in the browser cannot know. In
//! addition, both refuse requests that another page in the browser has sent, and requests to
//! another host name that leads to this machine.

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

/// The status code and the text of the response to a refused request.
pub type Refusal = (StatusCode, String);

/// A server that listens, but does not accept requests yet.
pub struct Loopback {
    listener: TcpListener,
    /// The value that the header `Host` of a request must have.
    pub host: String,
}

impl Loopback {
    /// Listens on an address of this machine. Port 0 stands for any free port.
    pub async fn listen(address: SocketAddr) -> Result<Self, Failure> {
        let failed = |error| Failure::file(format!("could not listen on {address}"), error);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let host = listener.local_addr().map_err(failed)?.to_string();
        Ok(Self { listener, host })
    }

    /// Serves requests until this future is dropped.
    pub async fn serve(self, router: Router) -> Result<(), Failure> {
        let served = axum::serve(self.listener, router).await;
        served.map_err(|error| Failure::other("the server stopped", &error))
    }
}

/// Returns 128 random bits as hexadecimal digits.
pub fn token() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    let failed = |_| Failure::file("could not draw a token", io::ErrorKind::Other.into());
    random.fill(&mut bytes).map_err(failed)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Refuses a request whose `Host` is not that of this server, or whose `Origin` is another page.
/// Returns whether a page of this server has sent the request: browsers send an `Origin` with
/// requests that change something, and other programs send none.
pub fn check(headers: &HeaderMap, host: &str) -> Result<bool, Refusal> {
    let refused = |what: &str| Err((StatusCode::FORBIDDEN, format!("another {what}")));
    match header(headers, ORIGIN) {
        _ if header(headers, HOST) != Some(host) => refused("host"),
        Some(origin) if origin.strip_prefix("http://") == Some(host) => Ok(true),
        None if !headers.contains_key(ORIGIN) => Ok(false),
        _ => refused("origin"),
    }
}

/// Returns a header, if it exists and is ASCII text.
pub fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
