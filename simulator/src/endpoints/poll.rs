//! Polling.

use std::time::Duration;

use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde_json::{Value, json};
use tracing::debug;
use url::form_urlencoded;

use crate::{
    billing::accounts::ProjectRef,
    contract::Violation,
    endpoints::{delivery, router::Endpoint},
    faults::{AppliedFaults, FaultPlace, RequestedFaults},
    http::reply::{self, Rejection},
    state::Service,
    tasks::{Task, outcome::Outcome},
};

pub(crate) async fn serve(
    endpoint: &Endpoint,
    project: &ProjectRef,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<Response, Rejection> {
    let mut parameters = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let Some((_, id)) = parameters.find(|(name, _)| name == "id") else {
        let missing = Violation::new(["query", "id"], "missing", "Field required");
        return Err(Rejection::Invalid(vec![missing]));
    };
    let mut requested = RequestedFaults::in_header(headers, FaultPlace::Poll)?;
    let (response, applied) = respond(endpoint, project, &id, &mut requested);
    Ok(applied.delay(&endpoint.service.clock, response).await)
}

fn respond(
    endpoint: &Endpoint,
    project: &ProjectRef,
    id: &str,
    requested: &mut RequestedFaults,
) -> (Response, AppliedFaults) {
    let service = &endpoint.service;
    let now = service.clock.now();
    let mut state = service.state();
    // A task is known only at the base URL that accepted it, and only to its project.
    let mut task = state
        .tasks
        .get_mut(id)
        .filter(|task| task.region == endpoint.region && task.project == *project);
    let carried = task.as_mut().map(|task| &mut task.directives.faults);
    let applied = service.faults.apply(FaultPlace::Poll, requested, carried);
    if let Some(response) = applied.replacement(FaultPlace::Poll) {
        return (response, applied);
    }
    let body = match task {
        None => json!({ "id": id, "status": Outcome::NotFound.status() }),
        Some(task) => {
            task.polls += 1;
            let status = applied.status().unwrap_or(task.status(now, &service.config.in_progress));
            debug!(
                task = task.id,
                operation = task.operation,
                status,
                attempt = task.polls,
                "polled"
            );
            match applied.status() {
                Some(status) => json!({ "id": id, "status": status }),
                None => result(service, task, now),
            }
        }
    };
    state.polls += 1;
    (reply::json(StatusCode::OK, &body), applied)
}

/// The result of a task, for polls and webhooks.
pub(crate) fn result(service: &Service, task: &Task, now: Duration) -> Value {
    let (id, status) = (&task.id, task.status(now, &service.config.in_progress));
    match task.outcome(now) {
        Some(Outcome::Ready) => {
            let sample = delivery::address(service, task);
            json!({ "id": id, "status": status, "result": { "sample": sample } })
        }
        _ => json!({ "id": id, "status": status }),
    }
}
