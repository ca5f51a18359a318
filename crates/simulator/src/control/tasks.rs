//! Lists tasks, and shows or finishes a single one.

mod details;

use std::time::Duration;

use axum::{
    extract::State,
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Routes, Shared,
    response::{self, ControlResult, Parameters, Problem},
};
use crate::{
    billing::accounts::ProjectRef,
    state::AppState,
    tasks::{Task, TaskView, outcome::Outcome},
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
            get(details::show),
        ),
        ("/api/tasks/{id}/picture", "GET: never expires", get(details::picture)),
        ("/api/tasks/{id}/images/{number}", "GET: of the request", get(details::image)),
        ("/api/tasks/{id}/finish", "POST {}: ends it now", post(details::finish)),
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
        "operations": records.tasks.operations().collect::<Vec<_>>(),
        "projects": projects,
    });
    drop(records);
    response::json(&page)
}
