//! The tasks, and how they change over time. No timer changes the status of a task: it is computed
//! from the clock whenever somebody needs it.

pub(crate) mod lateness;
pub(crate) mod logged_request;
pub(crate) mod outcome;
pub(crate) mod timeline;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    time::Duration,
};

use axum::body::Bytes;
use serde::{Deserialize, Serialize};

pub use self::view::{Counts, TaskView};
use imagekiln_painter::{images::Image, paint::Picture};

use crate::{
    billing::{
        accounts::ProjectRef,
        credits::{Credits, Megapixels},
    },
    contract::Region,
    runtime::clock::Shift,
    tasks::logged_request::LoggedRequest,
    tasks::outcome::{Directives, Outcome, UNKNOWN_STATUS},
    tasks::timeline::Timeline,
    values::{MAX_COUNT, base64, names},
};

/// The approximate size of a task without its request, its images and its picture.
const RECORD_BYTES: usize = 2560;

/// A stored task.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) project: ProjectRef,
    pub(crate) operation: String,
    pub(crate) operation_id: String,
    pub(crate) region: Region,
    /// The base URL at which the client reached the simulator.
    #[serde(skip)]
    pub(crate) base: String,
    pub(crate) request: LoggedRequest,
    /// The names of the request's fields that had no effect.
    pub(crate) ignored: Vec<String>,
    pub(crate) picture: Picture,
    /// Whether the images of the request were dropped, so that the picture can no longer be
    /// rendered.
    pub(crate) images_dropped: bool,
    /// The picture, after it has been rendered for the first time.
    #[serde(with = "base64", default, skip_serializing_if = "Option::is_none")]
    pub(crate) painted: Option<Bytes>,
    pub(crate) directives: Directives,
    pub(crate) cost: Credits,
    pub(crate) input_mp: Option<Megapixels>,
    pub(crate) output_mp: Megapixels,
    /// The Unix time on the simulator's clock. All times of a task are such times.
    pub(crate) accepted_at: Duration,
    pub(crate) final_at: Duration,
    pub(crate) polls: u64,
    /// The time from `final_at` to the first poll whose response says `Ready`.
    pub(crate) found_after: Option<Duration>,
    /// The time from `final_at` to the first request for the delivery URL.
    pub(crate) fetched_after: Option<Duration>,
    pub(crate) deliveries: u64,
    pub(crate) timeline: Timeline,
}

impl Task {
    /// The approximate memory that the task takes, in bytes.
    fn bytes(&self) -> u64 {
        let images = self.picture.inputs.iter().map(|input| match &input.image {
            Image::Inline(image) => image.bytes.len(),
            Image::Elsewhere(_) => 0,
        });
        let painted = self.painted.as_ref().map_or(0, Bytes::len);
        let texts = self.request.json().len() + self.picture.prompt.len();
        (RECORD_BYTES + texts + painted + images.sum::<usize>()) as u64
    }

    /// Checks whether a task in a snapshot, which was taken at `now`, contradicts itself.
    pub(crate) fn check(&self, now: Duration) -> Result<(), String> {
        let problem = if self.accepted_at > now || self.final_at < self.accepted_at {
            "a task is accepted before the snapshot, and before it ends"
        } else if self.polls.max(self.deliveries) > MAX_COUNT {
            "a counter is larger than 2^53"
        } else if self.images_dropped && !self.picture.inputs.is_empty() {
            "its images were dropped, but the picture has some"
        } else if self.painted.is_some() && !self.images_dropped {
            "the rendered picture is only contained if the images were dropped"
        } else {
            return Ok(());
        };
        Err(problem.to_owned())
    }

    /// The prompt of the request. Empty if the request was too large to be kept.
    pub(crate) fn prompt(&self) -> &str {
        if self.request.is_kept() { &self.picture.prompt } else { "" }
    }

    /// The outcome of the task, if it has ended.
    pub(crate) fn outcome(&self, now: Duration) -> Option<Outcome> {
        (now >= self.final_at).then_some(self.directives.outcome)
    }

    /// How long ago the task became ready, if it is ready.
    pub(crate) fn ready_for(&self, now: Duration) -> Option<Duration> {
        let is_ready = self.outcome(now) == Some(Outcome::Ready);
        is_ready.then(|| now.saturating_sub(self.final_at))
    }

    /// The status that a poll returns.
    pub(crate) fn status<'a>(&self, now: Duration, in_progress: &'a [String]) -> &'a str {
        match self.outcome(now) {
            Some(outcome) => outcome.status(),
            None if self.directives.unknown_status => UNKNOWN_STATUS,
            None => {
                let whole = self.final_at.saturating_sub(self.accepted_at).as_nanos().max(1);
                let passed = now.saturating_sub(self.accepted_at).as_nanos();
                let step = passed * in_progress.len() as u128 / whole;
                let status = usize::try_from(step).ok().and_then(|step| in_progress.get(step));
                status.or(in_progress.last()).map_or("", String::as_str)
            }
        }
    }
}

/// The stored tasks.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tasks {
    accepted: u64,
    ready: u64,
    failed: u64,
    /// The kept tasks by their numbers, in the order in which they were accepted.
    kept: BTreeMap<u64, Task>,
    /// The number of the task with each id.
    #[serde(skip)]
    numbers: HashMap<String, u64>,
    /// The tasks in progress of each project, by the time at which they end.
    #[serde(skip)]
    active: HashMap<ProjectRef, BTreeSet<(Duration, u64)>>,
    /// The tasks with a final status, in the order in which they ended.
    #[serde(skip)]
    finished: VecDeque<u64>,
    /// The tasks among `finished` that still have the images of their requests.
    #[serde(skip)]
    with_images: VecDeque<u64>,
    #[serde(skip)]
    bytes: u64,
    #[serde(skip)]
    retention: Retention,
}

/// Limits on what the simulator keeps of tasks.
#[derive(Clone, Copy, Default)]
pub(crate) struct Retention {
    /// The maximum total size of requests, images and pictures, in bytes.
    pub(crate) bytes: u64,
    /// How long the images of a request are kept after its task has ended.
    pub(crate) image_lifetime: Duration,
}

impl Tasks {
    pub(crate) fn new(retention: Retention) -> Self {
        Self { retention, ..Self::default() }
    }

    /// The number of tasks that were ever accepted, which is also the number of the next task.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// The number of tasks that had become ready, and the number of those that had failed, at the
    /// last call of [`settle`](Self::settle).
    pub(crate) fn ended(&self) -> (u64, u64) {
        (self.ready, self.failed)
    }

    /// The number of a project's tasks that were in progress at the last call of
    /// [`settle`](Self::settle).
    pub(crate) fn active(&self, project: &ProjectRef) -> usize {
        self.active.get(project).map_or(0, BTreeSet::len)
    }

    /// The time at which the next of the project's tasks in progress ends.
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

    /// Makes a task end now. Returns the task, or `None` if it was not in progress.
    pub(crate) fn finish(&mut self, id: &str, now: Duration) -> Option<&Task> {
        let number = *self.numbers.get(id)?;
        let task = self.kept.get_mut(&number).filter(|task| task.final_at > now)?;
        let waiting = self.active.get_mut(&task.project)?;
        waiting.remove(&(task.final_at, number));
        waiting.insert((now, number));
        task.final_at = now;
        Some(task)
    }

    /// The operations of the kept tasks.
    pub(crate) fn operations(&self) -> BTreeSet<&str> {
        self.kept.values().map(|task| task.operation.as_str()).collect()
    }

    /// The projects that have submitted tasks.
    pub(crate) fn projects(&self) -> impl Iterator<Item = &ProjectRef> {
        self.active.keys()
    }

    /// Records which tasks have ended by now, and frees memory: first drops images of requests
    /// whose pictures can no longer be downloaded, because their delivery URLs have expired; then,
    /// if that is not enough, drops whole tasks that have ended, oldest first.
    pub(crate) fn settle(&mut self, now: Duration) {
        let mut ended = Vec::new();
        for waiting in self.active.values_mut() {
            // No task has this number.
            let later = waiting.split_off(&(now, u64::MAX));
            ended.extend(std::mem::replace(waiting, later));
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
        self.evict(now);
    }

    fn evict(&mut self, now: Duration) {
        // Delivery URLs contain whole seconds, so they may be valid for up to a second longer.
        let lifetime = self.retention.image_lifetime.saturating_add(Duration::from_secs(1));
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
        while self.bytes > self.retention.bytes {
            let Some(number) = self.finished.pop_front() else { return };
            if let Some(task) = self.kept.remove(&number) {
                self.forget(&task);
            }
        }
    }

    /// Removes a task that is no longer in `kept` from the other tables.
    fn forget(&mut self, task: &Task) {
        self.numbers.remove(&task.id);
        self.bytes -= task.bytes();
    }

    /// Removes the tasks of a project and returns their ids. Their numbers are not reused.
    pub(crate) fn remove_of(&mut self, project: &ProjectRef) -> BTreeSet<String> {
        let (removed, kept): (BTreeMap<_, _>, _) = std::mem::take(&mut self.kept)
            .into_iter()
            .partition(|(_, task)| task.project == *project);
        self.kept = kept;
        self.active.remove(project);
        self.finished.retain(|number| !removed.contains_key(number));
        self.with_images.retain(|number| !removed.contains_key(number));
        for task in removed.values() {
            self.forget(task);
        }
        removed.into_values().map(|task| task.id).collect()
    }

    /// Stores the rendered picture of a task, and frees memory for it.
    pub(crate) fn keep_picture(&mut self, id: &str, picture: Bytes, now: Duration) {
        if let Some(task) = self.get_mut(id).filter(|task| task.painted.is_none()) {
            let length = picture.len() as u64;
            task.painted = Some(picture);
            self.bytes += length;
        }
        self.settle(now);
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

    /// Drops the rendered pictures that can be rendered again.
    pub(crate) fn drop_pictures(&mut self) {
        for task in self.kept.values_mut().filter(|task| !task.images_dropped) {
            task.painted = None;
        }
    }

    /// Shifts the times of all tasks. Afterwards, [`index`](Self::index) must be called.
    pub(crate) fn move_times(&mut self, times: Shift) {
        for task in self.kept.values_mut() {
            times.apply(&mut task.accepted_at);
            times.apply(&mut task.final_at);
            task.timeline.move_times(times);
        }
    }

    /// Restores what a snapshot does not contain: the base URLs and the indexes.
    pub(crate) fn index(
        &mut self,
        now: Duration,
        retention: Retention,
        base: impl Fn(Region) -> String,
    ) {
        let fresh = Self::new(retention);
        let Self { accepted, ready, failed, kept, .. } = std::mem::replace(self, fresh);
        for (number, mut task) in kept {
            task.base = base(task.region);
            self.accepted = number;
            self.insert(task);
        }
        self.settle(now);
        (self.accepted, self.ready, self.failed) = (accepted, ready, failed);
    }

    /// Checks the tasks of a snapshot, which was taken at `now`, against each other.
    /// [`Task::check`] checks each of them.
    pub(crate) fn check(&self, now: Duration) -> Result<(), &'static str> {
        let ids: BTreeSet<_> = self.kept.values().map(|task| &task.id).collect();
        let is_id = |id: &String| names::is_uuid(id) && !id.contains(char::is_uppercase);
        if ids.len() < self.kept.len() || !ids.into_iter().all(is_id) {
            return Err("an id occurs twice, or is not that of a task");
        }
        let outcomes = || self.kept.values().map(|task| task.outcome(now));
        let ready = outcomes().filter(|outcome| *outcome == Some(Outcome::Ready)).count() as u64;
        let active = outcomes().filter(Option::is_none).count() as u64;
        let failed = self.kept.len() as u64 - ready - active;
        let ended = self.ready.saturating_add(self.failed);
        let holds = self.kept.last_key_value().is_none_or(|(last, _)| *last < self.accepted)
            && self.accepted <= MAX_COUNT
            && (ready <= self.ready && failed <= self.failed)
            && ended.saturating_add(active) <= self.accepted;
        holds
            .then_some(())
            .ok_or("the counters `accepted`, `ready` and `failed` do not fit the tasks")
    }

    /// Yields the kept tasks in the order in which they were accepted.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.kept.values()
    }
}
