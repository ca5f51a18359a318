//! The base URL at which a client reaches the simulator.

use axum::http::{header, request::Parts, uri::Authority};

use super::router::Endpoint;
use crate::contract::Region;

/// Returns the base of the polling and delivery URLs in a response: the configured one, or else the
/// host that the client named. So a client in a container, or one that calls the simulator by
/// another name, gets URLs that it can reach.
pub(super) fn of(endpoint: &Endpoint, head: &Parts) -> String {
    let config = &endpoint.state.config;
    let configured = match endpoint.region {
        Region::Global => &config.public_url,
        Region::Regional => &config.regional_public_url,
    };
    if let Some(url) = configured {
        return url.trim_end_matches('/').to_owned();
    }
    match host(head).filter(|_| !endpoint.is_forwarded) {
        Some(host) => format!("{}://{host}", config.scheme()),
        None => endpoint.state.base(endpoint.region).to_owned(),
    }
}

fn host(head: &Parts) -> Option<Authority> {
    let named = || head.headers.get(header::HOST)?.to_str().ok()?.parse().ok();
    // A user and a password would be sent to the host.
    head.uri.authority().cloned().or_else(named).filter(|host| !host.as_str().contains('@'))
}
