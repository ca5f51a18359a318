//! The tasks, and what becomes of them as time passes. A task's status is worked out when someone asks.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use crate::contract::Region;
use crate::credits::Credits;
use crate::outcome::{ODD_STATUS, Outcome, Wish};
use crate::paint::Picture;

/// A task as it is kept.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) operation: String,
    pub(crate) operation_id: String,
    pub(crate) region: Region,
    pub(crate) request: Value,
    pub(crate) picture: Picture,
    pub(crate) wish: Wish,
    pub(crate) cost: Credits,
    pub(crate) accepted_at: Duration,
    pub(crate) final_at: Duration,
    pub(crate) polls: u64,
    pub(crate) deliveries: u64,
}

impl Task {
    /// The outcome, once it has come.
    pub(crate) fn outcome(&self, now: Duration) -> Option<Outcome> {
        (now >= self.final_at).then_some(self.wish.outcome)
    }

    /// The status to be told when polled.
    pub(crate) fn status<'a>(&self, now: Duration, in_progress: &'a [String]) -> &'a str {
        match self.outcome(now) {
            Some(outcome) => outcome.status(),
            None if self.wish.odd_status => ODD_STATUS,
            None => {
                let whole = self.final_at.saturating_sub(self.accepted_at).as_nanos().max(1);
                let passed = now.saturating_sub(self.accepted_at).as_nanos();
                let step = passed * in_progress.len() as u128 / whole;
                let step =
                    usize::try_from(step).unwrap_or(usize::MAX).min(in_progress.len().saturating_sub(1));
                in_progress.get(step).map_or("", String::as_str)
            }
        }
    }

    pub(crate) fn view(&self, now: Duration, in_progress: &[String]) -> TaskView {
        TaskView {
            id: self.id.clone(),
            operation: self.operation.clone(),
            operation_id: self.operation_id.clone(),
            region: self.region,
            request: self.request.clone(),
            status: self.status(now, in_progress).to_owned(),
            seed: self.picture.seed,
            width: self.picture.width,
            height: self.picture.height,
            media_type: self.picture.format.media_type(),
            cost: self.cost,
            accepted_at: self.accepted_at,
            final_at: self.final_at,
            polls: self.polls,
            deliveries: self.deliveries,
        }
    }
}

/// What the simulator knows of a task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskView {
    /// The task's id.
    pub id: String,
    /// The operation as called, in neutral form and without `/v1/`: `gen-2-pro`, `gen-2-klein-9b-kv-finetuned`.
    pub operation: String,
    /// The operation's id in the contract: `gen_2_pro`, `base_model_finetuned`.
    pub operation_id: String,
    /// The address that took the task. Polled at the other, it is not found.
    pub region: Region,
    /// The body as received, but for two things: images are summarized, and secrets are redacted. A body over 256 KiB
    /// without its images is replaced by a note.
    pub request: Value,
    /// The status, as a poll would tell it now.
    pub status: String,
    /// The seed of the picture: the request's, or the one drawn where it had none.
    pub seed: i128,
    /// The picture's width in pixels.
    pub width: u32,
    /// The picture's height in pixels.
    pub height: u32,
    /// The picture's kind: `image/jpeg`, `image/png` or `image/webp`; `video/webm` where it is a video.
    pub media_type: &'static str,
    /// What was charged.
    pub cost: Credits,
    /// When the task was accepted, by the simulator's clock.
    pub accepted_at: Duration,
    /// When the task has its final status, by the simulator's clock.
    pub final_at: Duration,
    /// How often the task was polled.
    pub polls: u64,
    /// How often its picture was delivered whole.
    pub deliveries: u64,
}

/// Every task since the start.
#[derive(Default)]
pub(crate) struct Tasks {
    /// In the order of their acceptance.
    all: Vec<Task>,
    /// Where in `all` an id is.
    places: HashMap<String, usize>,
    /// Tasks up to here have no images any more.
    released: usize,
}

impl Tasks {
    /// How many tasks there are, which numbers the next.
    pub(crate) fn count(&self) -> u64 {
        self.all.len() as u64
    }

    pub(crate) fn insert(&mut self, task: Task) {
        self.places.insert(task.id.clone(), self.all.len());
        self.all.push(task);
    }

    /// Lets go of the images of tasks whose delivery address has expired: they are not painted again. Tasks expire
    /// in the order of their acceptance.
    pub(crate) fn release_images(&mut self, now: Duration, lifetime: Duration) {
        // A second more than the address is good for, since addresses count whole seconds.
        let kept = lifetime.saturating_add(Duration::from_secs(1));
        while let Some(task) = self.all.get_mut(self.released) {
            if now <= task.final_at.saturating_add(kept) {
                return;
            }
            task.picture.inputs = Vec::new();
            self.released += 1;
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Task> {
        self.places.get(id).and_then(|place| self.all.get(*place))
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Task> {
        self.places.get(id).and_then(|place| self.all.get_mut(*place))
    }

    /// In the order of their acceptance.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Task> {
        self.all.iter()
    }
}
