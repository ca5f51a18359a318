//! Polling.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use tracing::debug;
use url::form_urlencoded;

use crate::accounts::ProjectRef;
use crate::answer::{self, Refusal};
use crate::delivery;
use crate::outcome::Outcome;
use crate::server::Door;
use crate::service::Service;
use crate::tasks::Task;
use crate::validation::Violation;

pub(crate) fn serve(door: &Door, project: &ProjectRef, query: Option<&str>) -> Result<Response, Refusal> {
    let mut parameters = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let Some((_, id)) = parameters.find(|(name, _)| name == "id") else {
        let missing = Violation::new(["query", "id"], "missing", "Field required");
        return Err(Refusal::Invalid(vec![missing]));
    };
    let service = &door.service;
    let now = service.clock.now();
    let mut state = service.state();
    state.polls += 1;
    // A task is known only at the address that took it, and to the project that submitted it.
    let task = state.tasks.get_mut(&id).filter(|task| task.region == door.region && task.project == *project);
    let answer = match task {
        None => json!({ "id": id, "status": Outcome::NotFound.status() }),
        Some(task) => {
            task.polls += 1;
            let status = task.status(now, &service.config.in_progress);
            debug!(task = task.id, operation = task.operation, status, attempt = task.polls, "polled");
            result(service, task, now)
        }
    };
    Ok(answer::json(StatusCode::OK, &answer))
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
