//! The endpoints of the service: submissions, polls and deliveries. An [`Endpoint`] is the service
//! at one of its base URLs, and [`router`] routes requests to their handlers, according to the
//! contract.

pub(crate) mod delivery;
pub(crate) mod poll;
mod submit;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode, Uri, Version, header, request::Parts, uri::Authority,
    },
    response::{IntoResponse as _, Response},
};
use serde_json::json;
use url::form_urlencoded;

use crate::{
    contract::{MAX_VIOLATIONS, Region, Violation, neutral_path},
    http::{
        body,
        response::{self, Handled, Problem},
    },
    journal::RequestRecord,
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
        // Refuse user information, because the response would make the client send it to the host.
        let host = host(&head.uri, &head.headers).filter(|host| !host.as_str().contains('@'));
        match host.filter(|_| !self.is_forwarded) {
            Some(host) => format!("{}://{host}", config.scheme()),
            None => self.state.base(self.region).to_owned(),
        }
    }
}

/// The host that a request names.
pub(crate) fn host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let named = || headers.get(header::HOST)?.to_str().ok()?.parse().ok();
    uri.authority().cloned().or_else(named)
}

/// Returns a parameter in the query of a URL.
pub(crate) fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let mut parameters = form_urlencoded::parse(uri.query()?.as_bytes());
    parameters.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The rejection of a request that violates the contract.
fn invalid(mut violations: Vec<Violation>) -> Problem {
    violations.truncate(MAX_VIOLATIONS);
    violations.iter_mut().for_each(Violation::make_printable);
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, violations)
}

/// The path with which supervisors check whether the simulator runs. The journal does not contain
/// such requests.
const HEALTH: &str = "/healthz";

pub(crate) fn router(endpoint: Endpoint) -> Router {
    Router::new().fallback(handle).with_state(endpoint)
}

async fn handle(State(endpoint): State<Endpoint>, request: Request) -> Response {
    let (head, mut body) = request.into_parts();
    let state = &endpoint.state;
    if head.uri.path() == HEALTH {
        return response::json(StatusCode::OK, &json!({ "status": "ok" }));
    }
    let record = RequestRecord::new(state.clock.unix_now(), endpoint.region, &head);
    let mut entry = state.journal.entry(record);
    let response = match dispatch(&endpoint, &head, &mut body, &mut entry.record).await {
        Ok(response) => response,
        Err(refusal) => {
            let is_read = body::discard_arrived(&head, &mut body).await;
            let mut response = refusal.into_response();
            // HTTP/2 can end a single request without closing the connection.
            if !is_read && head.version < Version::HTTP_2 {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            let status = response.status();
            if status.is_client_error() {
                *state.records().refused.entry(status.as_u16()).or_default() += 1;
            }
            response
        }
    };
    let mut response = entry.record.set_response(response).await;
    // The date is that of the simulated clock, because it is the only clock of the service that
    // clients can see. Keep the date that a fault has set.
    if !response.headers().contains_key(header::DATE) {
        response::set_date(&mut response, state.clock.unix_now());
    }
    response
}

async fn dispatch(
    endpoint: &Endpoint,
    head: &Parts,
    body: &mut Body,
    record: &mut RequestRecord,
) -> Handled {
    let state = &endpoint.state;
    if let Some(file) = head.uri.path().strip_prefix("/delivery/") {
        return delivery::deliver(state, head, file, record).await;
    }
    let path =
        neutral_path(head.uri.path(), &state.config.model_prefix).ok_or_else(Problem::not_found)?;
    let operation = state.contract.find(&head.method, &path).map_err(|allowed| {
        if allowed.is_empty() {
            Problem::not_found()
        } else {
            Problem::other_methods(&allowed.join(", "))
        }
    })?;
    let name = path.trim_start_matches("/v1/");
    record.operation = Some(name.to_owned());
    let project = state.records().accounts.caller(&head.headers).map_err(Problem::forbidden)?;
    record.set_project(&project);
    let Some(submission) = &operation.submission else {
        return poll::poll(endpoint, &project, head, record).await;
    };
    if state.config.strict && operation.region != endpoint.region {
        let region = operation.region;
        let detail = format!("The {region} base URL serves this endpoint, and not this one");
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    }
    if !state.records().accounts.admits(&project, name) {
        return Err(Problem::forbidden("The project has no access to this endpoint"));
    }
    let call = submit::Call {
        endpoint: endpoint.clone(),
        project,
        submission: Arc::clone(submission),
        operation: name.to_owned(),
        operation_id: operation.id.clone(),
        base: endpoint.public_base(head),
        headers: head.headers.clone(),
    };
    submit::submit(call, head, body, record).await
}
