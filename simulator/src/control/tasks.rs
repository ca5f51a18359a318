//! The tasks: lists them, and shows one in full.

mod details;
mod shown;
mod timeline;

use std::{sync::Arc, time::Duration};

use axum::{
    extract::rejection::QueryRejection,
    extract::{Query, State},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};

use self::shown::{Progress, TaskShown};
use super::{
    Routes,
    response::{self, ControlResult, Problem},
};
use crate::{billing::accounts::ProjectRef, state::AppState, tasks::Task};

/// The default and the maximum number of tasks in a response.
const PAGE: usize = 60;
const MAX_PAGE: usize = 500;

/// The maximum number of tasks that one request searches, so that it does not block others for
/// long.
const MAX_EXAMINED: usize = 20_000;

pub(super) fn routes() -> Routes {
    vec![
        ("/api/tasks", get(list)),
        ("/api/tasks/{id}", get(details::show)),
        ("/api/tasks/{id}/picture", get(details::picture)),
        ("/api/tasks/{id}/images/{number}", get(details::image)),
        ("/api/tasks/{id}/finish", post(details::finish)),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The maximum number of tasks.
    #[serde(default = "page")]
    limit: usize,
    /// Only those accepted before the task with this id.
    before: Option<String>,
    /// Only those with this progress.
    progress: Option<Progress>,
    /// Only those of this operation.
    operation: Option<String>,
    /// Only those accepted at this base URL.
    region: Option<String>,
    /// Only those of this project, as `organization/project`.
    project: Option<String>,
    /// Only those whose id, operation, status or prompt contains this text, in any case.
    search: Option<String>,
}

fn page() -> usize {
    PAGE
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

/// Whether a task contains `text`, which is in lower case.
fn mentions(state: &AppState, task: &Task, now: Duration, text: &str) -> bool {
    let status = task.status(now, &state.config.in_progress);
    let texts = [&task.id, &task.operation, task.prompt(), status];
    texts.into_iter().any(|one| one.to_lowercase().contains(text))
}

/// A project as `organization/project`.
fn path_of(project: &ProjectRef) -> String {
    format!("{}/{}", project.organization, project.project)
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
    /// The values of `operation` and `project` with which there are tasks.
    operations: Vec<String>,
    projects: Vec<String>,
}

async fn list(
    State(state): State<Arc<AppState>>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> ControlResult {
    let Query(mut wanted) = wanted.map_err(|error| Problem::malformed(error.body_text()))?;
    wanted.search = wanted.search.map(|text| text.to_lowercase());
    let limit = wanted.limit.clamp(1, MAX_PAGE);
    let now = state.clock.unix_now();
    let records = state.records();
    let mut older = records.tasks.iter().rev();
    if let Some(before) = &wanted.before {
        older.find(|task| task.id == *before).ok_or_else(|| Problem::not_found("task"))?;
    }
    let (mut tasks, mut last) = (Vec::new(), None);
    for task in older.by_ref().take(MAX_EXAMINED) {
        last = Some(task.id.clone());
        if wanted.includes(&state, task, now) {
            tasks.push(TaskShown::of(&state, task, now));
            if tasks.len() == limit {
                break;
            }
        }
    }
    let next = last.filter(|_| older.next().is_some());
    drop(older);
    let mut projects: Vec<_> = records.tasks.projects().map(path_of).collect();
    projects.sort_unstable();
    let page = Page {
        total: records.tasks.accepted(),
        now: now.as_secs_f64(),
        tasks,
        next,
        operations: records.tasks.operations().map(str::to_owned).collect(),
        projects,
    };
    drop(records);
    response::json(&page)
}
