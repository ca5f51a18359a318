//! Polling. Also creates the result of a task, which polls and webhooks contain.

use std::time::Duration;

use axum::{
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde_json::{Value, json};
use tracing::debug;

use super::{Endpoint, invalid, parameter};
use crate::{
    billing::accounts::ProjectRef,
    contract::Violation,
    faults::{AppliedFaults, FalseStatus, FaultPlace, FaultSource, RequestedFaults},
    http::response::{self, Handled, Problem},
    journal::RequestRecord,
    state::{AppState, Records},
    tasks::{
        Task,
        outcome::{Outcome, UNKNOWN_STATUS},
        timeline::HappeningKind,
    },
    values::names,
};

/// Responds with the status of a task, and with its result if it is ready.
pub(super) async fn poll(
    endpoint: &Endpoint,
    project: &ProjectRef,
    head: &Parts,
    record: &mut RequestRecord,
) -> Handled {
    let Some(id) = parameter(&head.uri, "id") else {
        let missing = Violation::new(["query", "id"], "missing", "Field required");
        return Err(invalid(vec![missing]));
    };
    record.set_task(&id);
    let mut requested =
        RequestedFaults::in_header(&head.headers, FaultSource::Request(FaultPlace::Poll))
            .map_err(Problem::malformed)?;
    let (response, applied) = respond(endpoint, head, (project, &id), &mut requested);
    record.faults = applied.names();
    Ok(applied.delay(&endpoint.state.clock, response).await)
}

fn respond(
    endpoint: &Endpoint,
    head: &Parts,
    (project, id): (&ProjectRef, &str),
    requested: &mut RequestedFaults,
) -> (Response, AppliedFaults) {
    let state = &endpoint.state;
    let now = state.clock.unix_now();
    let mut guard = state.records();
    let Records { tasks, lateness, polls, .. } = &mut *guard;
    let is_known_here = |task: &&mut Task| {
        let region = task.region == endpoint.region || state.config.regions_share_tasks;
        region && task.project == *project
    };
    let mut task = tasks.get_mut(id).filter(is_known_here);
    let carried = task.as_mut().map(|task| &mut task.directives.faults);
    let applied = state.faults.apply(FaultPlace::Poll, requested, carried);
    if let Some(response) = applied.replacement(FaultPlace::Poll) {
        if let (Some(task), Some(fault)) = (task, applied.decisive()) {
            task.timeline.record(now, HappeningKind::PollFailed, fault);
        }
        return (response, applied);
    }
    let body = match task {
        None => json!({ "id": names::printable(id), "status": Outcome::NotFound.status() }),
        Some(task) => {
            lateness.count_poll(task);
            let in_progress = &state.config.in_progress;
            let false_status = applied.status().map(|status| match status {
                FalseStatus::Unknown => UNKNOWN_STATUS,
                FalseStatus::NotFound => Outcome::NotFound.status(),
                FalseStatus::Stale => in_progress.first().map_or(UNKNOWN_STATUS, String::as_str),
            });
            let status = false_status.unwrap_or(task.status(now, in_progress));
            task.timeline.record(now, HappeningKind::Polled, status);
            let Task { operation, polls, .. } = &*task;
            debug!(task = id, operation, status, attempt = polls, "polled");
            match false_status {
                Some(status) => json!({ "id": id, "status": status }),
                None => {
                    lateness.found.record(task.ready_for(now), &mut task.found_after);
                    result_of(state, task, now, &endpoint.public_base(head))
                }
            }
        }
    };
    *polls += 1;
    let is_missing = body.get("status").is_some_and(|text| text == Outcome::NotFound.status());
    let status = if is_missing { state.config.not_found_status } else { 200 };
    let status = StatusCode::from_u16(status).unwrap_or_default();
    (response::json(status, &body), applied)
}

/// Returns the result that a poll of the task gets now, with a delivery URL at `base`.
pub(crate) fn result_of(state: &AppState, task: &Task, now: Duration, base: &str) -> Value {
    let (id, status) = (&task.id, task.status(now, &state.config.in_progress));
    match task.outcome(now) {
        Some(Outcome::Ready) => {
            let sample = delivery_url(state, task, base);
            json!({ "id": id, "status": status, "result": { "sample": sample } })
        }
        _ => json!({ "id": id, "status": status }),
    }
}

/// Returns the signed URL of a task's picture. It is the same for every poll, because it expires a
/// fixed time after the task became ready, rounded up to a whole second.
fn delivery_url(state: &AppState, task: &Task, base: &str) -> String {
    let until = task.final_at.saturating_add(state.config.delivery_lifetime);
    let expires = (until.as_secs() + u64::from(until.subsec_nanos() > 0)).to_string();
    let file = format!("{}.{}", task.id, task.picture.format.extension());
    let signature = state.signer.sign(&file, &expires);
    format!("{base}/delivery/{file}?expires={expires}&signature={signature}")
}
