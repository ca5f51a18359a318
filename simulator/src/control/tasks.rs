//! The tasks: lists them, and shows one with its picture.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::rejection::QueryRejection,
    extract::{Path, Query, State},
    http::HeaderMap,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reply::{self, Problem, Reply};
use crate::{
    billing::credits::{Credits, Megapixels},
    endpoints::{Rejection, delivery},
    http::range::Part,
    state::AppState,
    tasks::{Task, outcome::Outcome},
};

/// The default and the maximum number of tasks in a response.
const PAGE: usize = 60;
const MAX_PAGE: usize = 500;

/// The maximum number of tasks that one request searches, so that it does not block others for
/// long.
const MAX_EXAMINED: usize = 20_000;

/// The progress of a task, which summarizes all its statuses.
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The maximum number of tasks.
    #[serde(default = "page")]
    limit: usize,
    /// Only those accepted before the task with this id.
    before: Option<String>,
    /// Only those with this progress.
    progress: Option<Progress>,
    /// Only those whose id, operation, status or prompt contains this text, in any case.
    search: Option<String>,
}

fn page() -> usize {
    PAGE
}

#[derive(Serialize)]
struct TaskShown {
    id: String,
    organization: String,
    project: String,
    operation: String,
    operation_id: String,
    region: String,
    progress: Progress,
    status: String,
    prompt: String,
    cost: Credits,
    input_mp: Option<Megapixels>,
    output_mp: Megapixels,
    width: u32,
    height: u32,
    media_type: &'static str,
    ignored_fields: Vec<String>,
    /// As text, because JSON parsers round large numbers.
    seed: String,
    accepted_at: f64,
    final_at: f64,
    polls: u64,
    deliveries: u64,
    /// The path of the picture, once there is one.
    picture: Option<String>,
}

#[derive(Serialize)]
struct TaskInFull {
    #[serde(flatten)]
    task: TaskShown,
    request: Value,
}

#[derive(Serialize)]
struct Page {
    /// The number of all tasks since the start.
    total: u64,
    /// The current time of the clock, to compute ages.
    now: f64,
    tasks: Vec<TaskShown>,
    /// The value of `before` for the next page, if there is one.
    next: Option<String>,
}

fn prompt(task: &Task) -> &str {
    &task.request.prompt
}

fn shown(state: &AppState, task: &Task, now: Duration) -> TaskShown {
    let seconds = |moment| state.clock.unix_at(moment).as_secs_f64();
    let progress = Progress::of(task, now);
    TaskShown {
        organization: task.project.organization.to_string(),
        project: task.project.project.to_string(),
        operation: task.operation.clone(),
        operation_id: task.operation_id.clone(),
        region: task.region.to_string(),
        progress,
        status: task.status(now, &state.config.in_progress).to_owned(),
        prompt: prompt(task).to_owned(),
        cost: task.cost,
        input_mp: task.input_mp,
        output_mp: task.output_mp,
        width: task.picture.width,
        height: task.picture.height,
        media_type: task.picture.format.media_type(),
        ignored_fields: task.ignored.clone(),
        seed: task.picture.seed.to_string(),
        accepted_at: seconds(task.accepted_at),
        final_at: seconds(task.final_at),
        polls: task.polls,
        deliveries: task.deliveries,
        picture: (progress == Progress::Ready).then(|| format!("/api/tasks/{}/picture", task.id)),
        id: task.id.clone(),
    }
}

pub(super) async fn list(
    State(state): State<Arc<AppState>>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Reply {
    let Query(wanted) = wanted.map_err(|error| Problem::malformed(error.body_text()))?;
    let limit = wanted.limit.clamp(1, MAX_PAGE);
    let search = wanted.search.unwrap_or_default().to_lowercase();
    let now = state.clock.now();
    let matches = |task: &Task| {
        wanted.progress.is_none_or(|progress| progress == Progress::of(task, now))
            && (search.is_empty()
                || [task.id.as_str(), task.operation.as_str(), prompt(task)]
                    .into_iter()
                    .chain([task.status(now, &state.config.in_progress)])
                    .any(|text| text.to_lowercase().contains(&search)))
    };
    let records = state.records();
    let total = records.tasks.accepted();
    let mut older = records.tasks.iter().rev();
    if let Some(before) = &wanted.before {
        older.find(|task| task.id == *before).ok_or_else(|| Problem::not_found("task"))?;
    }
    let (mut tasks, mut last) = (Vec::new(), None);
    for task in older.by_ref().take(MAX_EXAMINED) {
        last = Some(task.id.clone());
        if matches(task) {
            tasks.push(shown(&state, task, now));
            if tasks.len() == limit {
                break;
            }
        }
    }
    let next = last.filter(|_| older.next().is_some());
    drop(older);
    drop(records);
    reply::json(&Page { total, now: state.clock.unix_at(now).as_secs_f64(), tasks, next })
}

pub(super) async fn one(State(state): State<Arc<AppState>>, Path(id): Path<String>) -> Reply {
    let now = state.clock.now();
    let task = {
        let records = state.records();
        let task = records.tasks.get(&id).ok_or_else(|| Problem::not_found("task"))?;
        TaskInFull { task: shown(&state, task, now), request: task.request.body() }
    };
    reply::json(&task)
}

/// The picture at a URL that does not expire. This does not count as a delivery.
pub(super) async fn picture(
    State(state): State<Arc<AppState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Reply {
    match delivery::picture(&state, &id).await {
        Ok((kind, bytes)) => {
            Ok(Part::requested(&headers, bytes.len()).response(kind, bytes, Body::from))
        }
        Err(Rejection::NotFound) => Err(Problem::not_found("picture")),
        Err(_) => Err(Problem::internal()),
    }
}
