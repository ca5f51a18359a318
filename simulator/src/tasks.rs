//! The tasks, and what becomes of them as time passes. A task's status is worked out when someone
//! asks.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use axum::body::Bytes;
use serde_json::Value;

use crate::accounts::ProjectRef;
use crate::contract::Region;
use crate::credits::{Credits, Megapixels};
use crate::order::Shown;
use crate::outcome::{ODD_STATUS, Outcome, Wish};
use crate::paint::Picture;
use crate::validation::Image;

/// What a task takes without its request, its images and its picture, about.
const RECORD_BYTES: usize = 2560;

/// A task as it is kept.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) project: ProjectRef,
    pub(crate) operation: String,
    pub(crate) operation_id: String,
    pub(crate) region: Region,
    pub(crate) request: Shown,
    pub(crate) picture: Picture,
    /// Whether the images were there once and are gone, so that the picture can't be painted any
    /// more.
    pub(crate) images_let_go: bool,
    /// The picture, once it was painted.
    pub(crate) painted: Option<Bytes>,
    pub(crate) wish: Wish,
    pub(crate) cost: Credits,
    pub(crate) input_mp: Option<Megapixels>,
    pub(crate) output_mp: Megapixels,
    pub(crate) accepted_at: Duration,
    pub(crate) final_at: Duration,
    pub(crate) polls: u64,
    pub(crate) deliveries: u64,
}

impl Task {
    /// What it takes of the memory, about.
    fn bytes(&self) -> u64 {
        let images = self.picture.inputs.iter().map(|input| match &input.image {
            Image::Inline(image) => image.bytes.len(),
            Image::Elsewhere(_) => 0,
        });
        let painted = self.painted.as_ref().map_or(0, Bytes::len);
        (RECORD_BYTES + self.request.bytes() + painted + images.sum::<usize>()) as u64
    }

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
                let step = usize::try_from(step)
                    .unwrap_or(usize::MAX)
                    .min(in_progress.len().saturating_sub(1));
                in_progress.get(step).map_or("", String::as_str)
            }
        }
    }

    pub(crate) fn view(&self, now: Duration, in_progress: &[String]) -> TaskView {
        TaskView {
            id: self.id.clone(),
            organization: self.project.organization.to_string(),
            project: self.project.project.to_string(),
            operation: self.operation.clone(),
            operation_id: self.operation_id.clone(),
            region: self.region,
            request: self.request.body(),
            status: self.status(now, in_progress).to_owned(),
            seed: self.picture.seed,
            width: self.picture.width,
            height: self.picture.height,
            media_type: self.picture.format.media_type(),
            cost: self.cost,
            input_mp: self.input_mp.map(Megapixels::number),
            output_mp: self.output_mp.number(),
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
    /// The id of the organization that paid.
    pub organization: String,
    /// The id of the project whose key submitted it.
    pub project: String,
    /// The operation as called, in neutral form and without `/v1/`: `gen-2-pro`,
    /// `gen-2-klein-9b-kv-finetuned`.
    pub operation: String,
    /// The operation's id in the contract: `gen_2_pro`, `base_model_finetuned`.
    pub operation_id: String,
    /// The address that took the task. Polled at the other, it is not found.
    pub region: Region,
    /// The body as received, but for two things: images are summarized, and secrets are redacted. A
    /// body over 256 KiB without its images is replaced by a note.
    pub request: Value,
    /// The status, as a poll would tell it now.
    pub status: String,
    /// The seed of the picture: the request's, or the one drawn where it had none.
    pub seed: i128,
    /// The picture's width in pixels.
    pub width: u32,
    /// The picture's height in pixels.
    pub height: u32,
    /// The picture's kind: `image/jpeg`, `image/png` or `image/webp`; `video/webm` where it is a
    /// video.
    pub media_type: &'static str,
    /// What was charged.
    pub cost: Credits,
    /// Megapixels (of 2^20 pixels) of the images that came with the request, to two decimal places;
    /// unknown where one was given by its address.
    pub input_mp: Option<f64>,
    /// Megapixels of the picture, to two decimal places.
    pub output_mp: f64,
    /// When the task was accepted, by the simulator's clock.
    pub accepted_at: Duration,
    /// When the task has its final status, by the simulator's clock.
    pub final_at: Duration,
    /// How often the task was polled.
    pub polls: u64,
    /// How often its picture was delivered whole.
    pub deliveries: u64,
}

/// The tasks, as many as there is room for.
#[derive(Default)]
pub(crate) struct Tasks {
    /// By their numbers, and so in the order of their acceptance.
    kept: BTreeMap<u64, Task>,
    /// The numbers of ids.
    numbers: HashMap<String, u64>,
    accepted: u64,
    /// Tasks without a final status, by the moment they get it.
    active: HashMap<ProjectRef, BTreeSet<(Duration, u64)>>,
    /// Tasks with a final status, in the order in which they got it.
    finished: VecDeque<u64>,
    /// Those of them whose images are still there.
    with_images: VecDeque<u64>,
    ready: u64,
    failed: u64,
    bytes: u64,
}

/// What tasks may take.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// Of requests, images and pictures together.
    pub(crate) bytes: u64,
    /// How long a task's images are of use, from its final status.
    pub(crate) image_lifetime: Duration,
}

impl Tasks {
    /// How many tasks were ever accepted, which numbers the next.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// How many tasks had become ready, and how many had failed, when [`settle`](Self::settle) was
    /// called last.
    pub(crate) fn ended(&self) -> (u64, u64) {
        (self.ready, self.failed)
    }

    /// How many tasks of a project had no final status then.
    pub(crate) fn active(&self, project: &ProjectRef) -> usize {
        self.active.get(project).map_or(0, BTreeSet::len)
    }

    /// When the next of them gets it.
    pub(crate) fn next_end(&self, project: &ProjectRef) -> Option<Duration> {
        self.active.get(project)?.first().map(|(end, _)| *end)
    }

    pub(crate) fn insert(&mut self, task: Task) {
        let number = self.accepted;
        self.accepted += 1;
        self.bytes += task.bytes();
        self.active.entry(task.project.clone()).or_default().insert((task.final_at, number));
        self.numbers.insert(task.id.clone(), number);
        self.kept.insert(number, task);
    }

    /// Takes note of the tasks that have got their final status by now, and makes room: lets go of
    /// images that are not painted any more, since their delivery address has expired, and of whole
    /// tasks where that does not do.
    pub(crate) fn settle(&mut self, now: Duration, room: Room) {
        let mut ended = Vec::new();
        for waiting in self.active.values_mut() {
            while let Some(first) = waiting.first().copied().filter(|(end, _)| *end <= now) {
                waiting.remove(&first);
                ended.push(first);
            }
        }
        ended.sort_unstable();
        for (_, number) in ended {
            let Some(task) = self.kept.get(&number) else { continue };
            match task.wish.outcome {
                Outcome::Ready => self.ready += 1,
                _ => self.failed += 1,
            }
            self.finished.push_back(number);
            if !task.picture.inputs.is_empty() {
                self.with_images.push_back(number);
            }
        }
        self.let_go(now, room);
    }

    fn let_go(&mut self, now: Duration, room: Room) {
        // A second more than the address is good for, since addresses count whole seconds.
        let lifetime = room.image_lifetime.saturating_add(Duration::from_secs(1));
        while let Some(number) = self.with_images.front() {
            match self.kept.get_mut(number) {
                Some(task) if now <= task.final_at.saturating_add(lifetime) => break,
                Some(task) => {
                    let before = task.bytes();
                    task.picture.inputs = Vec::new();
                    task.images_let_go = true;
                    self.bytes -= before - task.bytes();
                }
                None => {}
            }
            self.with_images.pop_front();
        }
        while self.bytes > room.bytes {
            let Some(number) = self.finished.pop_front() else { return };
            if let Some(task) = self.kept.remove(&number) {
                self.numbers.remove(&task.id);
                self.bytes -= task.bytes();
            }
        }
    }

    /// Keeps a task's picture, so that it is not painted again, and makes room for it.
    pub(crate) fn keep_picture(&mut self, id: &str, picture: Bytes, now: Duration, room: Room) {
        let Some(task) = self.numbers.get(id).and_then(|number| self.kept.get_mut(number)) else {
            return;
        };
        if task.painted.is_none() {
            self.bytes += picture.len() as u64;
            task.painted = Some(picture);
        }
        self.settle(now, room);
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Task> {
        self.numbers.get(id).and_then(|number| self.kept.get(number))
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Task> {
        self.numbers.get(id).and_then(|number| self.kept.get_mut(number))
    }

    /// Every task that had no final status when [`settle`](Self::settle) was called last.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &Task> {
        self.active.values().flatten().filter_map(|(_, number)| self.kept.get(number))
    }

    /// In the order of their acceptance.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.kept.values()
    }
}
