//! Routes requests to their handlers, according to the contract.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, Version, header, request::Parts},
    response::Response,
};
use serde_json::json;

use super::{Endpoint, Rejection, delivery, poll, submit};
use crate::{
    contract::{Action, neutral_path},
    http::{body, response},
    journal::RequestRecord,
};

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
    let mut entry = state.journal.entry(RequestRecord::new(
        state.clock.unix_now(),
        endpoint.region,
        head.method.as_str(),
        head.uri.path(),
        &head.headers,
    ));
    let response = match dispatch(&endpoint, &head, &mut body, &mut entry.record).await {
        Ok(response) => response,
        Err(refusal) => {
            let is_read = body::discard_arrived(&head, &mut body).await;
            let mut response = refusal.response();
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
) -> Result<Response, Rejection> {
    let state = &endpoint.state;
    if let Some(file) = head.uri.path().strip_prefix("/delivery/") {
        return delivery::deliver(state, head, file, record).await;
    }
    let path =
        neutral_path(head.uri.path(), &state.config.model_prefix).ok_or(Rejection::NotFound)?;
    let operation = state.contract.find(&head.method, &path).map_err(|allowed| {
        if allowed.is_empty() {
            Rejection::NotFound
        } else {
            Rejection::OtherMethods(allowed.join(", "))
        }
    })?;
    let name = path.trim_start_matches("/v1/");
    record.operation = Some(name.to_owned());
    let project = state
        .records()
        .accounts
        .caller(&head.headers)
        .map_err(|reason| Rejection::Forbidden(reason.into()))?;
    record.set_project(&project);
    match &operation.action {
        Action::Poll => poll::poll(endpoint, &project, head, record).await,
        Action::Submit(_) if state.config.strict && operation.region != endpoint.region => {
            Err(Rejection::OtherRegion(operation.region))
        }
        Action::Submit(submission) => {
            if !state.records().accounts.admits(&project, name) {
                return Err(Rejection::Forbidden(
                    "The project has no access to this endpoint".into(),
                ));
            }
            let call = submit::Call {
                project,
                submission: Arc::clone(submission),
                operation: name.to_owned(),
                operation_id: operation.id.clone(),
                base: endpoint.public_base(head),
                headers: head.headers.clone(),
            };
            submit::submit(endpoint, call, head, body, record).await
        }
    }
}
