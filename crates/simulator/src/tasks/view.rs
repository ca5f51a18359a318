//! The view of tasks: what the Rust API and the control interface show.

use std::{collections::BTreeMap, time::Duration};

use imagekiln_painter::paint::integer;
use serde::Serialize;
use serde_json::Value;

use super::{Task, outcome::Outcome};
use crate::{
    billing::credits::{Credits, Megapixels},
    contract::Region,
    runtime::clock::Clock,
    values::seconds,
};

/// What the simulator knows about a task.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TaskView {
    /// The task's id.
    pub id: String,
    /// The id of the organization that paid for the task.
    pub organization: String,
    /// The id of the project whose key submitted the task.
    pub project: String,
    /// The operation that the client called, with the prefix `gen` and without `/v1/`: `gen-2-pro`,
    /// `gen-2-klein-9b-kv-finetuned`.
    pub operation: String,
    /// The operation's id in the contract: `gen_2_pro`, `base_model_finetuned`.
    pub operation_id: String,
    /// The base URL that accepted the task. Polls at the other base URL do not find the task,
    /// unless [`Config::regions_share_tasks`](crate::Config::regions_share_tasks) is set.
    pub region: Region,
    /// The request body, with images summarized and secrets redacted. If the body without its
    /// images is larger than 256 KiB, this is a note instead.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub request: Value,
    /// The request's prompt.
    pub prompt: String,
    /// The names of the request's fields that the operation does not have, and that had no effect.
    pub ignored_fields: Vec<String>,
    /// The status that a poll would return now.
    pub status: String,
    /// Why the task failed, if it has failed.
    pub reason: Option<String>,
    /// The seed of the picture, which comes from the request or is random.
    #[serde(serialize_with = "integer::serialize")]
    pub seed: i128,
    /// The picture's width in pixels.
    pub width: u32,
    /// The picture's height in pixels.
    pub height: u32,
    /// The media type of the picture: `image/jpeg`, `image/png` or `image/webp`, or `video/webm`
    /// for a video.
    pub media_type: &'static str,
    /// The credits charged for the task.
    pub cost: Credits,
    /// The area of the request's images in megapixels, to two decimal places. Unknown if an image
    /// was given by its URL.
    pub input_mp: Option<f64>,
    /// The area of the picture in megapixels, to two decimal places.
    pub output_mp: f64,
    /// When the task was accepted, on the simulator's clock. Zero if it was accepted before the
    /// simulator started, because it comes from a snapshot.
    #[serde(skip)]
    pub accepted_at: Duration,
    /// When the task gets its final status, on the simulator's clock.
    #[serde(skip)]
    pub final_at: Duration,
    /// The number of polls.
    pub polls: u64,
    /// The time from the moment the task became ready to the first poll whose response says
    /// `Ready`.
    #[serde(serialize_with = "seconds::write_known")]
    pub found_after: Option<Duration>,
    /// The time from the moment the task became ready to the first request for its delivery URL.
    #[serde(serialize_with = "seconds::write_known")]
    pub fetched_after: Option<Duration>,
    /// How often the picture was delivered completely.
    pub deliveries: u64,
}

impl Task {
    /// The view of a task at the Unix time `now`, without its request, because parsing the request
    /// takes longer than everything else.
    pub(crate) fn summary(&self, now: Duration, clock: &Clock, in_progress: &[String]) -> TaskView {
        let failed = self.outcome(now).is_some_and(|outcome| outcome != Outcome::Ready);
        TaskView {
            id: self.id.clone(),
            organization: self.project.organization.to_string(),
            project: self.project.project.to_string(),
            operation: self.operation.clone(),
            operation_id: self.operation_id.clone(),
            region: self.region,
            request: Value::Null,
            prompt: self.prompt().to_owned(),
            ignored_fields: self.ignored.clone(),
            status: self.status(now, in_progress).to_owned(),
            reason: self.directives.reason.clone().filter(|_| failed),
            seed: self.picture.seed,
            width: self.picture.size.0,
            height: self.picture.size.1,
            media_type: self.picture.format.media_type(),
            cost: self.cost,
            input_mp: self.input_mp.map(Megapixels::number),
            output_mp: self.output_mp.number(),
            accepted_at: clock.at_unix(self.accepted_at),
            final_at: clock.at_unix(self.final_at),
            polls: self.polls,
            found_after: self.found_after,
            fetched_after: self.fetched_after,
            deliveries: self.deliveries,
        }
    }

    /// The view of a task, including its request.
    pub(crate) fn view(&self, now: Duration, clock: &Clock, in_progress: &[String]) -> TaskView {
        TaskView { request: self.request.body(), ..self.summary(now, clock, in_progress) }
    }
}

/// What happened since the simulator started. Every accepted submission is charged once, when it is
/// accepted, whatever the outcome of its task is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Accepted submissions, each of which created a task.
    pub accepted: u64,
    /// Credits charged for the accepted submissions.
    pub charged: Credits,
    /// Tasks in progress.
    pub active: u64,
    /// Tasks that have become `Ready`.
    pub ready: u64,
    /// Tasks that have ended with another final status.
    pub failed: u64,
    /// Polls whose response had a status, including `Task not found`.
    pub polls: u64,
    /// Pictures that were passed completely to the connection. A picture that is downloaded twice
    /// counts twice.
    pub delivered: u64,
    /// Rejected requests, by status code.
    pub refused: BTreeMap<u16, u64>,
    /// Applied faults, by name. A response that a fault causes counts here and not in `refused`.
    pub faults: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// The number of requests rejected with this status code.
    pub fn refused_with(&self, status: u16) -> u64 {
        self.refused.get(&status).copied().unwrap_or(0)
    }
}
