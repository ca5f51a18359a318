//! Shows a single task, with its request and its timeline, its picture, and the images of its
//! request. Also ends a task early.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
};
use imagekiln_painter::images::{Image, Input};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    super::{
        Shared,
        response::{self, At, Change, ControlResult, Problem},
    },
    TaskShown,
};
use crate::{
    endpoints::{delivery, poll},
    http::response::Part,
    state::AppState,
    tasks::{
        Task,
        timeline::{Happening, HappeningKind},
    },
    webhooks::WebhookAttempt,
};

pub(super) async fn show(State(state): Shared, Path(id): Path<String>) -> ControlResult {
    in_full(&state, &id)
}

/// Responds with a task, including its request, its timeline, and those images of its request that
/// the simulator still has.
fn in_full(state: &AppState, id: &str) -> ControlResult {
    #[derive(Serialize)]
    struct TaskInFull {
        #[serde(flatten)]
        task: TaskShown,
        images: Vec<Value>,
        timeline: Vec<Value>,
    }

    let now = state.clock.unix_now();
    let records = state.records();
    let task = records.tasks.get(id).ok_or_else(|| Problem::unknown("task"))?;
    let inputs = task.picture.inputs.iter().enumerate();
    let full = TaskInFull {
        task: TaskShown::of(task, task.view(now, &state.clock, &state.config.in_progress), now),
        images: inputs.filter_map(|(number, input)| shown(&task.id, number, input)).collect(),
        timeline: timeline(state, task, now),
    };
    drop(records);
    response::json(&full)
}

/// Returns what has happened to the task, oldest first, with Unix times.
fn timeline(state: &AppState, task: &Task, now: Duration) -> Vec<Value> {
    let once = |kind, at, detail: &str| Happening {
        kind,
        detail: detail.into(),
        count: 1,
        first: at,
        last: at,
    };
    let mut happenings = vec![once(HappeningKind::Accepted, task.accepted_at, "")];
    let outcome = task.outcome(now);
    let ended = outcome.map(|one| once(HappeningKind::Ended, task.final_at, one.status()));
    happenings.extend(ended);
    happenings.extend_from_slice(&task.timeline.0);
    for delivery in state.webhooks.views_of(&task.id) {
        let detail = |outcome: &str| format!("to {}: {outcome}", delivery.url);
        if let Some(refusal) = delivery.refusal.as_ref().filter(|_| outcome.is_some()) {
            let refusal = detail(refusal);
            happenings.push(once(HappeningKind::WebhookFailed, task.final_at, &refusal));
        }
        happenings.extend(delivery.attempts.iter().map(|attempt| {
            let (kind, outcome) = attempted(attempt);
            once(kind, state.clock.unix_at(attempt.at), &detail(&outcome))
        }));
    }
    // The sort is stable, so happenings of the same moment stay in this order.
    happenings.sort_by_key(|happening| happening.first);
    let shown = |Happening { kind, detail, count, first, last }: Happening| {
        let (at, last_at) = (first.as_secs_f64(), last.as_secs_f64());
        json!({ "event": kind, "detail": detail, "count": count, "at": at, "last_at": last_at })
    };
    happenings.into_iter().map(shown).collect()
}

fn attempted(attempt: &WebhookAttempt) -> (HappeningKind, String) {
    let kind = match (attempt.status, &attempt.problem) {
        (Some(200..300), _) | (None, None) => HappeningKind::WebhookSent,
        _ => HappeningKind::WebhookFailed,
    };
    let status = attempt.status.map(|status| format!("status code {status}"));
    let outcome = status.or_else(|| attempt.problem.clone());
    (kind, outcome.unwrap_or_else(|| "in progress".to_owned()))
}

/// Describes an image in the request itself, not one that was given by its URL. `field` consists of
/// names and indices joined by dots, such as `input_image_2` or `keyframes.0`.
fn shown(task: &str, number: usize, input: &Input) -> Option<Value> {
    let Image::Inline(image) = &input.image else { return None };
    Some(json!({
        "field": input.place,
        "is_mask": input.is_mask,
        "width": image.width,
        "height": image.height,
        "file": format!("/api/tasks/{task}/images/{number}"),
    }))
}

/// Responds with an image of the request, as it was received.
pub(super) async fn image(
    State(state): Shared,
    At((id, number)): At<(String, usize)>,
    headers: HeaderMap,
) -> ControlResult {
    let image = {
        let records = state.records();
        let input = records.tasks.get(&id).and_then(|task| task.picture.inputs.get(number));
        match input.map(|input| &input.image) {
            Some(Image::Inline(image)) => image.clone(),
            _ => return Err(Problem::unknown("image")),
        }
    };
    let bytes = Bytes::from_owner(image.bytes);
    let part = Part::requested(&headers, bytes.len());
    Ok(part.response(image.format.to_mime_type(), bytes, Body::from))
}

/// Responds with the picture, at a URL that does not expire. This does not count as a delivery.
pub(super) async fn picture(
    State(state): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> ControlResult {
    match delivery::picture(&state, &id).await {
        Ok((kind, bytes)) => {
            Ok(Part::requested(&headers, bytes.len()).response(kind, bytes, Body::from))
        }
        Err(problem) if problem.status == StatusCode::NOT_FOUND => Err(Problem::unknown("picture")),
        Err(problem) => Err(problem),
    }
}

/// The body of a change that has no parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Makes a task in progress end now, and responds with the task. The clock and all other tasks stay
/// as they are.
pub(super) async fn finish(
    State(state): Shared,
    Path(id): Path<String>,
    Change(Nothing {}): Change<Nothing>,
) -> ControlResult {
    let now = state.clock.unix_now();
    {
        let mut records = state.records();
        if let Some(task) = records.tasks.finish(&id, now) {
            let result = poll::result_of(&state, task, now, &task.base);
            state.webhooks.bring_forward(&id, state.clock.at_unix(now), &result);
            records.accounts.finish_training(&id, now);
        }
        records.tasks.settle(now, state.retention());
    }
    in_full(&state, &id)
}
