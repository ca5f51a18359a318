//! The tasks, and how they change over time. The status of a task is computed when it is needed.

pub(crate) mod counts;
pub(crate) mod logged_request;
pub(crate) mod moderation;
pub(crate) mod outcome;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    time::Duration,
};

use axum::body::Bytes;
use serde_json::Value;

use crate::{
    billing::{
        accounts::ProjectRef,
        credits::{Credits, Megapixels},
    },
    contract::Region,
    media::{images::Image, paint::Picture},
    tasks::logged_request::LoggedRequest,
    tasks::outcome::{Directives, Outcome, UNKNOWN_STATUS},
};

/// The approximate size of a task without its request, its images and its picture.
const RECORD_BYTES: usize = 2560;

/// A stored task.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) project: ProjectRef,
    pub(crate) operation: String,
    pub(crate) operation_id: String,
    pub(crate) region: Region,
    pub(crate) request: LoggedRequest,
    /// The names of the request's fields without an effect.
    pub(crate) ignored: Vec<String>,
    pub(crate) picture: Picture,
    /// Whether the images were dropped, so that the picture can't be rendered any more.
    pub(crate) images_dropped: bool,
    /// The picture, once it has been rendered.
    pub(crate) painted: Option<Bytes>,
    pub(crate) directives: Directives,
    pub(crate) cost: Credits,
    pub(crate) input_mp: Option<Megapixels>,
    pub(crate) output_mp: Megapixels,
    pub(crate) accepted_at: Duration,
    pub(crate) final_at: Duration,
    pub(crate) polls: u64,
    pub(crate) deliveries: u64,
}

impl Task {
    /// The approximate memory it takes.
    fn bytes(&self) -> u64 {
        let images = self.picture.inputs.iter().map(|input| match &input.image {
            Image::Inline(image) => image.bytes.len(),
            Image::Elsewhere(_) => 0,
        });
        let painted = self.painted.as_ref().map_or(0, Bytes::len);
        (RECORD_BYTES + self.request.bytes() + painted + images.sum::<usize>()) as u64
    }

    /// The outcome, once the task has ended.
    pub(crate) fn outcome(&self, now: Duration) -> Option<Outcome> {
        (now >= self.final_at).then_some(self.directives.outcome)
    }

    /// The status for a poll.
    pub(crate) fn status<'a>(&self, now: Duration, in_progress: &'a [String]) -> &'a str {
        match self.outcome(now) {
            Some(outcome) => outcome.status(),
            None if self.directives.unknown_status => UNKNOWN_STATUS,
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
            ignored_fields: self.ignored.clone(),
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
    /// Megapixels of the request's images, to two decimal places; unknown if one
    /// was given by its URL.
    pub input_mp: Option<f64>,
    /// Megapixels of the picture, to two decimal places.
    pub output_mp: f64,
    /// When the task was accepted, on the simulator's clock.
    pub accepted_at: Duration,
    /// When the task has its final status, on the simulator's clock.
    pub final_at: Duration,
    /// The number of polls.
    pub polls: u64,
    /// How often its picture was delivered completely.
    pub deliveries: u64,
}

/// The stored tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    /// By number, which is the order of their acceptance.
    kept: BTreeMap<u64, Task>,
    /// The number of each id.
    numbers: HashMap<String, u64>,
    accepted: u64,
    /// The tasks in progress, by the moment they end.
    active: HashMap<ProjectRef, BTreeSet<(Duration, u64)>>,
    /// The tasks with a final status, in the order in which they got it.
    finished: VecDeque<u64>,
    /// Those of them that still have their images.
    with_images: VecDeque<u64>,
    ready: u64,
    failed: u64,
    bytes: u64,
}

/// The limits of what tasks may keep.
#[derive(Clone, Copy)]
pub(crate) struct Retention {
    /// The total size of requests, images and pictures.
    pub(crate) bytes: u64,
    /// How long a task's images are kept after its final status.
    pub(crate) image_lifetime: Duration,
}

impl Tasks {
    /// The number of tasks ever accepted, which is the number of the next one.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// The numbers of tasks that had become ready and that had failed at the last call of
    /// [`settle`](Self::settle).
    pub(crate) fn ended(&self) -> (u64, u64) {
        (self.ready, self.failed)
    }

    /// The number of a project's tasks that were in progress then.
    pub(crate) fn active(&self, project: &ProjectRef) -> usize {
        self.active.get(project).map_or(0, BTreeSet::len)
    }

    /// When the next of them ends.
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

    /// Records the tasks that have ended by now, and frees memory: drops images that are no longer
    /// needed because their delivery URL has expired, and then complete tasks, oldest first.
    pub(crate) fn settle(&mut self, now: Duration, retention: Retention) {
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
            match task.directives.outcome {
                Outcome::Ready => self.ready += 1,
                _ => self.failed += 1,
            }
            self.finished.push_back(number);
            if !task.picture.inputs.is_empty() {
                self.with_images.push_back(number);
            }
        }
        self.evict(now, retention);
    }

    fn evict(&mut self, now: Duration, retention: Retention) {
        // One second longer than the URL is valid, because URLs count whole seconds.
        let lifetime = retention.image_lifetime.saturating_add(Duration::from_secs(1));
        while let Some(number) = self.with_images.front() {
            match self.kept.get_mut(number) {
                Some(task) if now <= task.final_at.saturating_add(lifetime) => break,
                Some(task) => {
                    let before = task.bytes();
                    task.picture.inputs = Vec::new();
                    task.images_dropped = true;
                    self.bytes -= before - task.bytes();
                }
                None => {}
            }
            self.with_images.pop_front();
        }
        while self.bytes > retention.bytes {
            let Some(number) = self.finished.pop_front() else { return };
            if let Some(task) = self.kept.remove(&number) {
                self.numbers.remove(&task.id);
                self.bytes -= task.bytes();
            }
        }
    }

    /// Removes the tasks of a project and returns their ids. Their numbers are not used again.
    pub(crate) fn remove_of(&mut self, project: &ProjectRef) -> BTreeSet<String> {
        let of_project = self.kept.extract_if(.., |_, task| task.project == *project);
        let removed: BTreeMap<_, _> = of_project.collect();
        self.active.remove(project);
        self.finished.retain(|number| !removed.contains_key(number));
        self.with_images.retain(|number| !removed.contains_key(number));
        for task in removed.values() {
            self.numbers.remove(&task.id);
            self.bytes -= task.bytes();
        }
        removed.into_values().map(|task| task.id).collect()
    }

    /// Keeps a task's rendered picture, and frees memory for it.
    pub(crate) fn keep_picture(
        &mut self,
        id: &str,
        picture: Bytes,
        now: Duration,
        retention: Retention,
    ) {
        let Some(task) = self.numbers.get(id).and_then(|number| self.kept.get_mut(number)) else {
            return;
        };
        if task.painted.is_none() {
            self.bytes += picture.len() as u64;
            task.painted = Some(picture);
        }
        self.settle(now, retention);
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Task> {
        self.numbers.get(id).and_then(|number| self.kept.get(number))
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Task> {
        self.numbers.get(id).and_then(|number| self.kept.get_mut(number))
    }

    /// The tasks that were in progress at the last call of [`settle`](Self::settle).
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &Task> {
        self.active.values().flatten().filter_map(|(_, number)| self.kept.get(number))
    }

    /// The tasks in the order of their acceptance.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.kept.values()
    }
}
