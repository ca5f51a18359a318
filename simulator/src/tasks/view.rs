//! What the Rust API shows of a task.

use std::time::Duration;

use serde_json::Value;

use super::Task;
use crate::{
    billing::credits::{Credits, Megapixels},
    contract::Region,
    runtime::clock::Clock,
};

/// What the simulator knows about a task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskView {
    /// The task's id.
    pub id: String,
    /// The id of the organization that paid.
    pub organization: String,
    /// The id of the project whose key submitted it.
    pub project: String,
    /// The operation as called, with the prefix `gen` and without `/v1/`: `gen-2-pro`,
    /// `gen-2-klein-9b-kv-finetuned`.
    pub operation: String,
    /// The operation's id in the contract: `gen_2_pro`, `base_model_finetuned`.
    pub operation_id: String,
    /// The base URL that accepted the task. At the other one, polls do not find it unless
    /// [`Config::regions_share_tasks`](crate::Config::regions_share_tasks) is set.
    pub region: Region,
    /// The body as received, with images summarized and secrets redacted. A body over 256 KiB
    /// without its images is replaced by a note.
    pub request: Value,
    /// The names of the request's fields that the operation does not have. They had no effect.
    pub ignored_fields: Vec<String>,
    /// The status that a poll would return now.
    pub status: String,
    /// The seed of the picture: the request's, or a random one.
    pub seed: i128,
    /// The picture's width in pixels.
    pub width: u32,
    /// The picture's height in pixels.
    pub height: u32,
    /// The media type of the picture: `image/jpeg`, `image/png` or `image/webp`, or `video/webm`
    /// for a video.
    pub media_type: &'static str,
    /// The credits charged.
    pub cost: Credits,
    /// Megapixels of the request's images, to two decimal places; unknown if one was given by its
    /// URL.
    pub input_mp: Option<f64>,
    /// Megapixels of the picture, to two decimal places.
    pub output_mp: f64,
    /// When the task was accepted, on the simulator's clock; zero before its start.
    pub accepted_at: Duration,
    /// When the task has its final status, on the simulator's clock.
    pub final_at: Duration,
    /// The number of polls.
    pub polls: u64,
    /// How often its picture was delivered completely.
    pub deliveries: u64,
}

impl Task {
    pub(crate) fn view(&self, clock: &Clock, in_progress: &[String]) -> TaskView {
        TaskView {
            id: self.id.clone(),
            organization: self.project.organization.to_string(),
            project: self.project.project.to_string(),
            operation: self.operation.clone(),
            operation_id: self.operation_id.clone(),
            region: self.region,
            request: self.request.body(),
            ignored_fields: self.ignored.clone(),
            status: self.status(clock.unix_now(), in_progress).to_owned(),
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
            deliveries: self.deliveries,
        }
    }
}
