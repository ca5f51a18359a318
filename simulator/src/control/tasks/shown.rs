//! What the control interface shows of a task.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    billing::credits::{Credits, Megapixels},
    state::AppState,
    tasks::{Task, outcome::Outcome},
};

/// The progress of a task, which summarizes all its statuses.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Progress {
    Active,
    Ready,
    Failed,
}

impl Progress {
    pub(super) fn of(task: &Task, now: Duration) -> Self {
        match task.outcome(now) {
            None => Self::Active,
            Some(Outcome::Ready) => Self::Ready,
            Some(_) => Self::Failed,
        }
    }
}

#[derive(Serialize)]
pub(super) struct TaskShown {
    id: String,
    organization: String,
    project: String,
    operation: String,
    operation_id: String,
    region: String,
    progress: Progress,
    status: String,
    /// Why it failed, once it has.
    reason: Option<String>,
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

impl TaskShown {
    pub(super) fn of(state: &AppState, task: &Task, now: Duration) -> Self {
        let progress = Progress::of(task, now);
        Self {
            organization: task.project.organization.to_string(),
            project: task.project.project.to_string(),
            operation: task.operation.clone(),
            operation_id: task.operation_id.clone(),
            region: task.region.to_string(),
            progress,
            status: task.status(now, &state.config.in_progress).to_owned(),
            reason: task.directives.reason.clone().filter(|_| progress == Progress::Failed),
            prompt: task.prompt().to_owned(),
            cost: task.cost,
            input_mp: task.input_mp,
            output_mp: task.output_mp,
            width: task.picture.size.0,
            height: task.picture.size.1,
            media_type: task.picture.format.media_type(),
            ignored_fields: task.ignored.clone(),
            seed: task.picture.seed.to_string(),
            accepted_at: task.accepted_at.as_secs_f64(),
            final_at: task.final_at.as_secs_f64(),
            polls: task.polls,
            deliveries: task.deliveries,
            picture: (progress == Progress::Ready)
                .then(|| format!("/api/tasks/{}/picture", task.id)),
            id: task.id.clone(),
        }
    }
}
