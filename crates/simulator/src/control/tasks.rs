//! Lists tasks. Shows a single one, with its request and its timeline, its picture, and the images
//! of its request, or ends it early.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use imagekiln_painter::images::{Image, Input};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Routes, Shared,
    response::{self, At, Change, ControlResult, Parameters, Problem},
};
use crate::{
    billing::accounts::ProjectRef,
    endpoints::{delivery, poll},
    http::response::Part,
    state::AppState,
    tasks::{
        Task, TaskView,
        outcome::Outcome,
        timeline::{Happening, HappeningKind},
    },
    webhooks::WebhookAttempt,
};

/// The default number of tasks in a response, and the maximum.
const PAGE: usize = 60;
const MAX_PAGE: usize = 500;

/// The maximum number of tasks that one request searches, because other requests have to wait until
/// the search has ended.
const MAX_EXAMINED: usize = 20_000;

pub(super) fn routes() -> Routes {
    vec![
        (
            "/api/tasks",
            "GET ?limit,before,progress,operation,region,project,search: newest \
             first; `next` is the next `before`",
            get(list),
        ),
        (
            "/api/tasks/{id}",
            "GET: request, images, `timeline`, `ignored_fields`, `found_after`, `fetched_after`",
            get(show),
        ),
        ("/api/tasks/{id}/picture", "GET: never expires", get(picture)),
        ("/api/tasks/{id}/images/{number}", "GET: of the request", get(image)),
        ("/api/tasks/{id}/finish", "POST {}: ends it now", post(finish)),
    ]
}

/// The progress of a task, which summarizes its many possible statuses.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Progress {
    Active,
    Ready,
    Failed,
}

impl Progress {
    fn of(task: &Task, now: Duration) -> Self {
        match task.outcome(now) {
            None => Self::Active,
            Some(Outcome::Ready) => Self::Ready,
            Some(_) => Self::Failed,
        }
    }
}

#[derive(Serialize)]
struct TaskShown {
    #[serde(flatten)]
    view: TaskView,
    progress: Progress,
    /// When the task was accepted, in seconds since 1970-01-01 00:00 UTC.
    accepted_at: f64,
    final_at: f64,
    /// The path of the picture, if the task is ready.
    picture: Option<String>,
}

impl TaskShown {
    fn of(task: &Task, view: TaskView, now: Duration) -> Self {
        let progress = Progress::of(task, now);
        Self {
            progress,
            accepted_at: task.accepted_at.as_secs_f64(),
            final_at: task.final_at.as_secs_f64(),
            picture: (progress == Progress::Ready)
                .then(|| format!("/api/tasks/{}/picture", task.id)),
            view,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The maximum number of tasks.
    limit: Option<usize>,
    /// Only tasks accepted before the task with this id.
    before: Option<String>,
    /// Only tasks with this progress.
    progress: Option<Progress>,
    /// Only tasks of this operation.
    operation: Option<String>,
    /// Only tasks accepted at this base URL.
    region: Option<String>,
    /// Only tasks of this project, as `organization/project`.
    project: Option<String>,
    /// Only tasks whose id, operation, status or prompt contains this text. Ignores case.
    search: Option<String>,
}

impl Wanted {
    fn includes(&self, state: &AppState, task: &Task, now: Duration) -> bool {
        let same =
            |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|one| one == value);
        self.progress.is_none_or(|progress| progress == Progress::of(task, now))
            && same(&self.operation, &task.operation)
            && same(&self.region, &task.region.to_string())
            && self.project.as_ref().is_none_or(|wanted| *wanted == path_of(&task.project))
            && self.search.as_ref().is_none_or(|text| mentions(state, task, now, text))
    }
}

/// Whether a task contains `text`, which must be in lower case.
fn mentions(state: &AppState, task: &Task, now: Duration, text: &str) -> bool {
    let status = task.status(now, &state.config.in_progress);
    let texts = [&task.id, &task.operation, task.prompt(), status];
    texts.into_iter().any(|one| one.to_lowercase().contains(text))
}

/// Formats a project as `organization/project`.
fn path_of(project: &ProjectRef) -> String {
    format!("{}/{}", project.organization, project.project)
}

/// Lists tasks, newest first. The response also contains the total number of tasks, the current
/// time, from which the page computes ages, the value of `before` for the next page, and the
/// operations and projects that have tasks.
async fn list(State(state): Shared, Parameters(mut wanted): Parameters<Wanted>) -> ControlResult {
    wanted.search = wanted.search.map(|text| text.to_lowercase());
    let limit = wanted.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let now = state.clock.unix_now();
    let records = state.records();
    let mut older = records.tasks.iter().rev();
    if let Some(before) = &wanted.before {
        older.find(|task| task.id == *before).ok_or_else(|| Problem::unknown("task"))?;
    }
    let (mut tasks, mut last) = (Vec::new(), None);
    for task in older.by_ref().take(MAX_EXAMINED) {
        last = Some(task.id.clone());
        if wanted.includes(&state, task, now) {
            let view = task.summary(now, &state.clock, &state.config.in_progress);
            tasks.push(TaskShown::of(task, view, now));
            if tasks.len() == limit {
                break;
            }
        }
    }
    let next = last.filter(|_| older.next().is_some());
    drop(older);
    let mut projects: Vec<_> = records.tasks.projects().map(path_of).collect();
    projects.sort_unstable();
    let page = json!({
        "total": records.tasks.accepted(),
        "now": now.as_secs_f64(),
        "tasks": tasks,
        "next": next,
        "operations": records.tasks.operations(),
        "projects": projects,
    });
    drop(records);
    response::json(&page)
}

async fn show(State(state): Shared, Path(id): Path<String>) -> ControlResult {
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
    let mut happenings = vec![Happening::once(HappeningKind::Accepted, task.accepted_at, "")];
    let outcome = task.outcome(now);
    let ended =
        outcome.map(|one| Happening::once(HappeningKind::Ended, task.final_at, one.status()));
    happenings.extend(ended);
    happenings.extend_from_slice(&task.timeline.0);
    for delivery in state.webhooks.views_of(&task.id) {
        let detail = |outcome: &str| format!("to {}: {outcome}", delivery.url);
        if let Some(refusal) = delivery.refusal.as_ref().filter(|_| outcome.is_some()) {
            let refusal = detail(refusal);
            let kind = HappeningKind::WebhookFailed;
            happenings.push(Happening::once(kind, task.final_at, &refusal));
        }
        happenings.extend(delivery.attempts.iter().map(|attempt| {
            let (kind, outcome) = attempted(attempt);
            Happening::once(kind, state.clock.unix_at(attempt.at), &detail(&outcome))
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
async fn image(
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
async fn picture(
    State(state): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> ControlResult {
    let picture = delivery::picture(&state, &id).await;
    let (kind, bytes) = picture.map_err(|problem| match problem.status {
        StatusCode::NOT_FOUND => Problem::unknown("picture"),
        _ => problem,
    })?;
    Ok(Part::requested(&headers, bytes.len()).response(kind, bytes, Body::from))
}

/// The body of a change that has no parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Makes a task in progress end now, and responds with the task. The clock and all other tasks stay
/// as they are.
async fn finish(
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
        records.tasks.settle(now);
    }
    in_full(&state, &id)
}
