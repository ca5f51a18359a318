//! A task with its request and its timeline, its picture and the images of its request, and its
//! early end.

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::HeaderMap,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    super::{
        Shared,
        response::{self, At, Change, ControlResult, Problem},
    },
    TaskShown, timeline,
};
use crate::{
    endpoints::{Rejection, delivery, poll},
    http::range::Part,
    media::images::{Image, Input},
    state::AppState,
};

pub(super) async fn show(State(state): Shared, Path(id): Path<String>) -> ControlResult {
    in_full(&state, &id)
}

/// A task with its request, the images of its request that are still stored, and its timeline.
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
    let task = records.tasks.get(id).ok_or_else(|| Problem::not_found("task"))?;
    let inputs = task.picture.inputs.iter().enumerate();
    let full = TaskInFull {
        task: TaskShown::of(task, task.view(now, &state.clock, &state.config.in_progress), now),
        images: inputs.filter_map(|(number, input)| shown(&task.id, number, input)).collect(),
        timeline: timeline::of(state, task, now),
    };
    drop(records);
    response::json(&full)
}

/// An image that is in the request itself. One given by its URL was not fetched. The name of its
/// field is names and indices joined by dots, such as `input_image_2` or `keyframes.0`.
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

/// An image of the request, as it was received.
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
            _ => return Err(Problem::not_found("image")),
        }
    };
    let bytes = Bytes::from_owner(image.bytes);
    let part = Part::requested(&headers, bytes.len());
    Ok(part.response(image.format.to_mime_type(), bytes, Body::from))
}

/// The picture at a URL that does not expire. This does not count as a delivery.
pub(super) async fn picture(
    State(state): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> ControlResult {
    match delivery::picture(&state, &id).await {
        Ok((kind, bytes)) => {
            Ok(Part::requested(&headers, bytes.len()).response(kind, bytes, Body::from))
        }
        Err(Rejection::NotFound) => Err(Problem::not_found("picture")),
        Err(_) => Err(Problem::internal()),
    }
}

/// The body of a change that has no parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Ends a task in progress now, while the clock and all other tasks stay as they are. Returns the
/// task.
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
