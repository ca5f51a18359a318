//! Polling.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};
use tracing::debug;
use url::form_urlencoded;

use crate::accounts::ProjectRef;
use crate::answer::{self, Refusal};
use crate::delivery;
use crate::faults::{Asks, FaultPlace, Strike};
use crate::outcome::Outcome;
use crate::server::Door;
use crate::service::Service;
use crate::tasks::Task;
use crate::validation::Violation;

pub(crate) async fn serve(
    door: &Door,
    project: &ProjectRef,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let mut parameters = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let Some((_, id)) = parameters.find(|(name, _)| name == "id") else {
        let missing = Violation::new(["query", "id"], "missing", "Field required");
        return Err(Refusal::Invalid(vec![missing]));
    };
    let mut asks = Asks::in_header(headers, FaultPlace::Poll)?;
    let (response, strike) = answer(door, project, &id, &mut asks);
    Ok(strike.hold_back(&door.service.clock, response).await)
}

fn answer(door: &Door, project: &ProjectRef, id: &str, asks: &mut Asks) -> (Response, Strike) {
    let service = &door.service;
    let now = service.clock.now();
    let mut state = service.state();
    // A task is known only at the address that took it, and to the project that submitted it.
    let mut task = state
        .tasks
        .get_mut(id)
        .filter(|task| task.region == door.region && task.project == *project);
    let carried = task.as_mut().map(|task| &mut task.wish.faults);
    let strike = service.faults.strike(FaultPlace::Poll, asks, carried);
    if let Some(response) = strike.instead(FaultPlace::Poll) {
        return (response, strike);
    }
    let answer = match task {
        None => json!({ "id": id, "status": Outcome::NotFound.status() }),
        Some(task) => {
            task.polls += 1;
            let status = strike.status().unwrap_or(task.status(now, &service.config.in_progress));
            debug!(
                task = task.id,
                operation = task.operation,
                status,
                attempt = task.polls,
                "polled"
            );
            match strike.status() {
                Some(status) => json!({ "id": id, "status": status }),
                None => result(service, task, now),
            }
        }
    };
    state.polls += 1;
    (answer::json(StatusCode::OK, &answer), strike)
}

/// What is told of a task, by polling and by webhook.
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
