//! The endpoints of the service: submissions, polls and deliveries. An [`Endpoint`] is the service
//! at one of its base URLs.

pub(crate) mod delivery;
pub(crate) mod poll;
pub(crate) mod router;
mod submit;

use std::sync::Arc;

use axum::http::{StatusCode, Uri, header, request::Parts, uri::Authority};
use url::form_urlencoded;

use crate::{
    contract::{MAX_VIOLATIONS, Region, Violation},
    http::response::Problem,
    state::AppState,
};

/// The service at one of its two base URLs.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) state: Arc<AppState>,
    pub(crate) region: Region,
    /// Whether the control interface forwards the requests. Then their host is that of the control
    /// interface.
    pub(crate) is_forwarded: bool,
}

impl Endpoint {
    /// Returns the base of the polling and delivery URLs in a response: the configured URL, or else
    /// the host that the client named in its request. So a client in a container, or a client that
    /// knows the simulator by another name, gets URLs that it can reach.
    fn public_base(&self, head: &Parts) -> String {
        let config = &self.state.config;
        let configured = match self.region {
            Region::Global => &config.public_url,
            Region::Regional => &config.regional_public_url,
        };
        if let Some(url) = configured {
            return url.trim_end_matches('/').to_owned();
        }
        match host(head).filter(|_| !self.is_forwarded) {
            Some(host) => format!("{}://{host}", config.scheme()),
            None => self.state.base(self.region).to_owned(),
        }
    }
}

fn host(head: &Parts) -> Option<Authority> {
    let named = || head.headers.get(header::HOST)?.to_str().ok()?.parse().ok();
    // Refuse user information, because the response would make the client send it to the host.
    head.uri.authority().cloned().or_else(named).filter(|host| !host.as_str().contains('@'))
}

/// Returns a parameter in the query of a URL.
fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let mut parameters = form_urlencoded::parse(uri.query()?.as_bytes());
    parameters.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The rejection of a request that violates the contract.
fn invalid(mut violations: Vec<Violation>) -> Problem {
    violations.truncate(MAX_VIOLATIONS);
    violations.iter_mut().for_each(Violation::make_printable);
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, violations)
}
