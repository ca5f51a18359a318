//! The record of one submission, and the rules for how each step changes the record.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::intent::{Intent, StoredPath, seconds, stored_path, time};
use crate::{DELIVERY_VALIDITY, TaskRef, TaskStatus, values::Moment};

/// The time between two `Task not found` responses after which the task is certainly gone, by the
/// clock of the service. A single one proves nothing: a server that does not know the task yet may
/// have sent it, and closing the record would lose a paid picture.
pub(crate) const NOT_FOUND_PROOF: Duration = Duration::from_secs(600);

/// The state of a submission.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// The service may have accepted the submission: it is in flight, or its response was lost. It
    /// may be billed, so no later call and no other process sends it again.
    #[default]
    Unknown,
    /// The service accepted and billed the submission, and its task is known.
    Accepted,
    /// A poll returned `Ready`. The picture is not saved yet.
    Ready,
    /// The picture is saved.
    Saved {
        /// The path of the file, or another description of its location.
        #[serde(with = "stored_path")]
        path: PathBuf,
        /// The size of the file in bytes.
        bytes: u64,
        /// The SHA-256 digest of the file in lowercase hexadecimal, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
    },
    /// A poll returned this failure: the task has ended without a picture.
    Failed(TaskStatus),
    /// The picture is gone. The delivery host refused even a URL that a poll had returned after the
    /// validity of the first URL (ten minutes) had ended. An earlier refusal proves nothing,
    /// because a later poll may return a URL that works.
    Expired,
    /// A person or the program has closed the record, because they need nothing more from the
    /// submission.
    Settled,
    /// The service certainly did not accept the submission.
    NotBilled,
}

impl State {
    /// Returns `true` if nothing is left to do for the submission.
    pub fn is_closed(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Accepted | Self::Ready)
    }

    /// Returns the rank of the state. Of two states of one record, the one with the higher rank is
    /// the later one.
    fn rank(&self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::NotBilled => 1,
            Self::Accepted => 2,
            Self::Ready => 3,
            Self::Failed(_) | Self::Expired => 4,
            Self::Settled => 5,
            Self::Saved { .. } => 6,
        }
    }
}

/// Something that happened to a submission, and that may change its record.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// The service certainly did not accept the submission.
    NotBilled,
    /// The response was lost, so the client cannot tell whether the service accepted the
    /// submission. Only a webhook can, or a person who checks the usage at the service.
    Lost,
    /// The service accepted the submission and created this task. Either its response contained the
    /// task, or a webhook or a person named the task and a poll then found it.
    Accepted(TaskRef),
    /// A poll succeeded.
    Polled {
        /// The status of the task.
        status: TaskStatus,
        /// When the poll was sent, by the clock of this machine.
        at: SystemTime,
        /// When the service responded, by the `Date` header of its response. Without this header,
        /// the poll does not prove how much time has passed since an earlier one.
        date: Option<SystemTime>,
        /// The other members of the response if the task failed; see [`Record::details`].
        details: Option<Value>,
    },
    /// The delivery host refused to serve the picture at a delivery URL.
    Refused {
        /// The `Date` header of the poll response that contained the URL, if there was one.
        given: Option<SystemTime>,
        /// The time from the first `Ready` to the poll that returned the URL, as far as the clock
        /// of the service or a monotonic clock of this process proves it. The clock of the machine
        /// does not count, because people and programs set it.
        after: Duration,
    },
    /// The delivery host sent something that is not a complete picture. Its bytes are kept, and the
    /// picture may be downloaded again.
    Damaged {
        /// The path of the file with the bytes, or another description of its location.
        path: PathBuf,
    },
    /// The picture is complete, and its file is flushed to disk.
    Saved {
        /// The path of the file, or another description of its location.
        path: PathBuf,
        /// The size of the file in bytes.
        bytes: u64,
        /// The SHA-256 digest of the file in lowercase hexadecimal, if it is known.
        sha256: Option<String>,
    },
    /// A person or the program needs nothing more from the submission.
    Settled,
}

/// Everything that is known about one submission, from its intent to its saved picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    intent: Intent,
    #[serde(flatten)]
    pub(super) life: Life,
}

/// The record of a key, as a [`Journal`](super::Journal) returns it.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyed {
    /// What is known about the submission.
    pub record: Record,
    /// Whether a running process is working on the submission.
    pub is_in_use: bool,
}

impl Keyed {
    /// Returns `true` unless the service certainly did not accept the submission. A submission that
    /// may be billed uses up its key: nothing else is submitted with the key.
    ///
    /// For the batches.
    #[doc(hidden)]
    pub fn may_be_billed(&self) -> bool {
        *self.record.state() != State::NotBilled
    }
}

/// The part of a record that steps change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Life {
    state: State,
    /// Whether the response to the submission was lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_lost: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<TaskRef>,
    /// When the first poll that returned `Ready` was sent, in seconds since the Unix epoch, by the
    /// clock of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ready_at: Option<u64>,
    /// When the service first responded with `Ready`, by its own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ready_date: Option<u64>,
    /// When a poll first returned `Task not found`, by the clock of the service. `None` once a
    /// later poll has found the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_found_date: Option<u64>,
    /// What the service said about the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    /// The file with the bytes of a damaged delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    damaged: Option<StoredPath>,
}

impl Record {
    /// Creates the record of a submission that is about to be sent.
    pub fn new(intent: Intent) -> Self {
        Self { intent, life: Life::default() }
    }

    /// Returns the submission.
    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// Returns the state of the submission.
    pub fn state(&self) -> &State {
        &self.life.state
    }

    /// Returns the task, once the service has accepted the submission.
    pub fn task(&self) -> Option<&TaskRef> {
        self.life.task.as_ref()
    }

    /// Returns `true` if the response to the submission was lost. Only a person or a webhook can
    /// then tell whether the service accepted the submission. If this method returns `false` and
    /// the state is [`Unknown`](State::Unknown), the submission may still be in flight.
    ///
    /// For `kiln` and the batches.
    #[doc(hidden)]
    pub fn is_lost(&self) -> bool {
        self.life.is_lost
    }

    /// Returns when the first poll that returned `Ready` was sent, by the clock of this machine, in
    /// whole seconds. The ten minutes of the delivery URL count from this time.
    ///
    /// For `kiln` and the batches.
    #[doc(hidden)]
    pub fn ready_at(&self) -> Option<SystemTime> {
        self.life.ready_at.map(time)
    }

    /// Returns what the service said about the failure of the task: the members of the poll
    /// response besides the id and the status, such as `details`. If these members are long, the
    /// value is text with only their beginning.
    pub fn details(&self) -> Option<&Value> {
        self.life.details.as_ref()
    }

    /// Returns the file with the bytes of a damaged delivery. `None` if no delivery was damaged, or
    /// if the picture was saved since.
    pub fn damaged(&self) -> Option<&Path> {
        self.life.damaged.as_ref().map(|path| &*path.0)
    }

    /// Returns whether this is the record of another submission to the same service, and has this
    /// task.
    pub(super) fn is_other_with(&self, submission: &Intent, task: &TaskRef) -> bool {
        let services = self.intent.service().zip(submission.service());
        let is_same = services.is_none_or(|(one, other)| one == other);
        let has_task = self.task().is_some_and(|own| own.is_same(task));
        self.intent.id() != submission.id() && is_same && has_task
    }

    /// Returns when a poll first returned `Ready`, by the clock of this machine and that of the
    /// service.
    pub(crate) fn first_ready(&self) -> Option<Moment> {
        let date = self.life.ready_date.map(time);
        Some(Moment { at: self.ready_at()?, date, instant: None })
    }

    /// Applies a step, and returns whether the record has changed.
    ///
    /// This method is the only place that decides what a step changes. Every store of records calls
    /// it, so that all stores agree: [`Directory`](super::Directory), the history of `kiln`, and
    /// the ledger of `imagekiln-batch`.
    ///
    /// The task of a record is paid, so the record is closed without a picture only if the task
    /// certainly has none, or if a person or the program settles it. A failed poll, a first `Task
    /// not found`, or a refused download within ten minutes leaves the record open.
    pub fn advance(&mut self, step: &Step) -> bool {
        let before = self.life.clone();
        self.life.advance(self.intent.id(), step);
        self.life.without_signature();
        self.life != before
    }

    /// Merges two records of one submission, for example if a crash has left the submission in two
    /// stores, or if a backup was restored.
    ///
    /// The result does not depend on the order in which records are merged, or on how often. A
    /// record with a task wins over a record without one, because a task proves that the submission
    /// was billed. Otherwise, the record whose state is closer to a saved picture wins.
    ///
    /// For the batches.
    #[must_use]
    #[doc(hidden)]
    pub fn join(self, other: Self) -> Self {
        let mut joined = Self { intent: self.intent, life: self.life.join(other.life) };
        joined.life.without_signature();
        joined
    }
}

impl Life {
    fn advance(&mut self, submission: &str, step: &Step) {
        match (&self.state, step) {
            (State::Unknown, Step::NotBilled) => self.state = State::NotBilled,
            (State::Unknown, Step::Lost) => self.is_lost = true,
            // A task proves that the submission was billed, even if a person settled the submission
            // as not billed.
            (State::Unknown | State::NotBilled | State::Settled, Step::Accepted(task))
                if self.task.is_none() =>
            {
                self.task = Some(task.clone().of_submission(submission));
                self.state = State::Accepted;
            }
            // The record already has a task, for example from a webhook or a person. The response
            // may add what was missing, such as the cost.
            (_, Step::Accepted(task)) => {
                self.task = self.task.take().map(|known| known.completed_by(task));
            }
            (State::Unknown | State::Accepted | State::Ready, Step::Settled) => {
                self.state = State::Settled;
            }
            (State::Accepted | State::Ready, Step::Polled { status, at, date, details }) => {
                self.polled(status, *at, *date);
                if matches!(self.state, State::Failed(_)) {
                    self.details = details.clone();
                }
            }
            // A poll returned this URL after the validity of the first URL had ended, so this URL
            // should still be valid. Its refusal proves that the picture is gone.
            (State::Accepted | State::Ready, Step::Refused { given, after })
                if *after >= DELIVERY_VALIDITY
                    || has_passed(self.ready_date, DELIVERY_VALIDITY, *given) =>
            {
                self.state = State::Expired;
            }
            (State::Accepted | State::Ready, Step::Damaged { path }) => {
                self.damaged = Some(StoredPath(path.clone()));
            }
            // A picture on disk wins over an earlier failure, expiry or settlement. It may also be
            // saved a second time, at another path.
            (
                State::Accepted
                | State::Ready
                | State::Saved { .. }
                | State::Failed(_)
                | State::Expired
                | State::Settled,
                Step::Saved { path, bytes, sha256 },
            ) if self.task.is_some() => {
                let (path, sha256) = (path.clone(), sha256.clone());
                self.state = State::Saved { path, bytes: *bytes, sha256 };
                self.damaged = None;
            }
            _ => {}
        }
    }

    fn polled(&mut self, status: &TaskStatus, at: SystemTime, date: Option<SystemTime>) {
        // The poll may have reached a server that does not know the task yet, so only a second
        // `Task not found` after `NOT_FOUND_PROOF` closes the record of a paid task.
        if *status == TaskStatus::TaskNotFound {
            self.not_found_date = earlier(self.not_found_date, date.map(seconds));
            if has_passed(self.not_found_date, NOT_FOUND_PROOF, date) {
                self.state = State::Failed(status.clone());
            }
        } else if status.is_failure() {
            self.state = State::Failed(status.clone());
        } else {
            self.not_found_date = None;
            if status.is_success() {
                self.ready_at = earlier(self.ready_at, Some(seconds(at)));
                self.ready_date = earlier(self.ready_date, date.map(seconds));
                self.state = State::Ready;
            }
        }
    }

    /// Removes the signature from the polling URL of a closed record. Nothing polls that task
    /// again, and a signature is a secret that should not be stored without need.
    fn without_signature(&mut self) {
        if self.state.is_closed() {
            self.task = self.task.take().map(TaskRef::without_signature);
        }
    }

    fn join(self, other: Self) -> Self {
        // Two records may have states of the same rank, for example two failures. The JSON text
        // decides between them, because any rule that does not depend on the order will do.
        let order = |life: &Self| {
            let task = life.task.clone().map(|task| task.with_cost(None));
            let text = serde_json::to_string(&(&life.state, &task)).unwrap_or_default();
            (task.is_some(), life.state.rank(), text)
        };
        let (less, more) =
            if order(&self) <= order(&other) { (self, other) } else { (other, self) };
        let costs = [&less, &more].map(|life| life.task.as_ref().and_then(TaskRef::cost));
        let cost = costs.into_iter().flatten().reduce(f64::max);
        let is_saved = matches!(more.state, State::Saved { .. });
        let text = |details: &Value| details.to_string();
        Self {
            details: [less.details, more.details].into_iter().flatten().max_by_key(text),
            damaged: more.damaged.max(less.damaged).filter(|_| !is_saved),
            task: more.task.map(|task| task.with_cost(cost)),
            state: more.state,
            is_lost: less.is_lost || more.is_lost,
            ready_at: earlier(less.ready_at, more.ready_at),
            ready_date: earlier(less.ready_date, more.ready_date),
            // `None` may mean that a poll has found the task since, so `None` in either record
            // wins.
            not_found_date: less.not_found_date.zip(more.not_found_date).map(|(a, b)| a.max(b)),
        }
    }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// Returns whether the clock of the service proves that at least `wait` has passed. The clock of
/// this machine proves nothing, because people and programs set it.
fn has_passed(since: Option<u64>, wait: Duration, now: Option<SystemTime>) -> bool {
    let passed = since.zip(now).map(|(since, now)| now.duration_since(time(since)));
    passed.is_some_and(|passed| passed.is_ok_and(|passed| passed >= wait))
}
