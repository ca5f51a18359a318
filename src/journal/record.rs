//! The life of a paid picture: one record, and the table of steps that change it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::intent::{Intent, StoredPath, seconds, stored_path, time};
use crate::{DELIVERY_VALIDITY, TaskRef, TaskStatus, values::Moment};

/// How long after the first `Task not found` a second one proves that the task is gone, by the
/// clock of the service.
pub(crate) const NOT_FOUND_PROOF: Duration = Duration::from_secs(600);

/// Where a submission is in its life.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// The service may have accepted the submission. The client never sends it again.
    #[default]
    Unknown,
    /// The service accepted the submission. Its task is known, and billed.
    Accepted,
    /// A poll found the picture ready. It is not saved yet.
    Ready,
    /// The picture is saved.
    Saved {
        /// The path of the file, or another name of the place.
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
    /// The delivery host refused a URL that the service signed after the validity of the first one
    /// had ended: the picture is gone.
    Expired,
    /// A person, or the program, needs nothing more from the submission.
    Settled,
    /// The service certainly did not accept the submission.
    NotBilled,
}

impl State {
    /// Returns `true` if nothing is left to do.
    pub fn is_closed(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Accepted | Self::Ready)
    }

    /// The later of two states of the same record has the higher rank.
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
    /// The response was lost: nobody will say any more whether the service accepted the submission,
    /// unless a person or a webhook does.
    Lost,
    /// The service accepted the submission as this task: its response says so, or a poll has
    /// confirmed what a webhook or a person said.
    Accepted(TaskRef),
    /// A poll succeeded.
    Polled {
        /// The status of the task.
        status: TaskStatus,
        /// When the poll was sent, by the clock of this machine.
        at: SystemTime,
        /// When the service answered, by the `Date` header of its response. Without it, the poll
        /// does not prove how much time has passed.
        date: Option<SystemTime>,
        /// What the response says about a failure besides the status; see [`Record::details`].
        details: Option<Value>,
    },
    /// The delivery host refused a URL.
    Refused {
        /// The `Date` header of the response with the URL, if it has one.
        given: Option<SystemTime>,
        /// How long after the first `Ready` the URL was given, as far as this process knows by a
        /// clock that cannot be set.
        after: Duration,
    },
    /// The delivery is not a whole picture. Its bytes are kept, and it may be downloaded again.
    Damaged {
        /// The path of the kept file, or another name of the place.
        path: PathBuf,
    },
    /// The picture is complete and durable.
    Saved {
        /// The path of the file, or another name of the place.
        path: PathBuf,
        /// The size of the file in bytes.
        bytes: u64,
        /// The SHA-256 digest of the file in lowercase hexadecimal, if it is known.
        sha256: Option<String>,
    },
    /// A person, or the program, needs nothing more.
    Settled,
}

/// What is known about a submission from its intent to its picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    intent: Intent,
    #[serde(flatten)]
    life: Life,
}

/// The record of a key, as a [`Journal`](super::Journal) returns it.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyed {
    /// What is known about the submission.
    pub record: Record,
    /// Whether a process works on it that runs.
    pub is_in_use: bool,
}

impl Keyed {
    /// Whether the submission counts as an attempt: it was not certainly refused.
    pub fn may_be_billed(&self) -> bool {
        *self.record.state() != State::NotBilled
    }
}

/// The part of a record that steps change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Life {
    state: State,
    /// Whether the response was lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_lost: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<TaskRef>,
    /// When a poll first returned `Ready`, in seconds since the Unix epoch, by the clock of the
    /// machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ready_at: Option<u64>,
    /// The same by the clock of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ready_date: Option<u64>,
    /// When a poll first returned `Task not found`, by the clock of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_found_date: Option<u64>,
    /// What the service said about the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    /// Where the bytes of a damaged delivery are.
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

    /// Returns where the submission is in its life.
    pub fn state(&self) -> &State {
        &self.life.state
    }

    /// Returns the task, once the service has accepted the submission.
    pub fn task(&self) -> Option<&TaskRef> {
        self.life.task.as_ref()
    }

    /// Whether the response to the submission was lost, so that only a person or a webhook can say
    /// what became of it. If it is `false` and the state is [`Unknown`](State::Unknown), the
    /// submission may still be in flight.
    pub fn is_lost(&self) -> bool {
        self.life.is_lost
    }

    /// Returns when a poll first returned `Ready`, in whole seconds of the clock of this machine.
    /// The validity of the delivery URL counts from then.
    pub fn ready_at(&self) -> Option<SystemTime> {
        self.life.ready_at.map(time)
    }

    /// Returns what the service said about the failure of the task: the members of the poll
    /// response besides the id and the status, such as `details`. Long ones become text, of which
    /// only the beginning is kept.
    pub fn details(&self) -> Option<&Value> {
        self.life.details.as_ref()
    }

    /// Returns where the bytes of a delivery are that is not a whole picture, unless its picture
    /// was saved since.
    pub fn damaged(&self) -> Option<&Path> {
        self.life.damaged.as_ref().map(|path| &*path.0)
    }

    /// Whether this is another submission to the same service, and has the task.
    pub(super) fn is_other_with(&self, submission: &Intent, task: &TaskRef) -> bool {
        let services = self.intent.account().zip(submission.account());
        let is_same = services.is_none_or(|(one, other)| one.service() == other.service());
        let has_task = self.task().is_some_and(|own| own.is_same(task));
        self.intent.id() != submission.id() && is_same && has_task
    }

    /// Returns when a poll first returned `Ready`.
    pub(crate) fn first_ready(&self) -> Option<Moment> {
        let date = self.life.ready_date.map(time);
        Some(Moment { at: self.ready_at()?, date, instant: None })
    }

    pub(super) fn life(&self) -> &Life {
        &self.life
    }

    pub(super) fn set_life(&mut self, life: Life) {
        self.life = life;
    }

    /// Applies a step, and returns whether the record has changed.
    ///
    /// This is the only place that decides what follows from a step. Whatever stores records runs
    /// it: [`Directory`](super::Directory), the history of `kiln`, and the ledger of
    /// `imagekiln-batch`. A record is closed without a picture only by a poll that succeeded, or by
    /// a person.
    pub fn advance(&mut self, step: &Step) -> bool {
        let before = self.life.clone();
        self.life.advance(self.intent.id(), step);
        self.life.without_signature();
        self.life != before
    }

    /// Returns what two stores together know about one submission, for example after a crash has
    /// left it in both, or if a backup was restored.
    ///
    /// The order and the number of the parts make no difference. A task counts more than what is
    /// said without it, because it proves that the submission was billed; otherwise the state that
    /// is closer to the picture wins.
    #[must_use]
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
            // A task proves that the submission was billed, whatever a person has found out.
            (State::Unknown | State::NotBilled | State::Settled, Step::Accepted(task))
                if self.task.is_none() =>
            {
                self.task = Some(task.clone().of_submission(submission));
                self.state = State::Accepted;
            }
            // A webhook or a person found the task, and the response says what it costs.
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
            // The URL should be valid, although the first one no longer is.
            (State::Accepted | State::Ready, Step::Refused { given, after })
                if *after >= DELIVERY_VALIDITY
                    || has_passed(self.ready_date, DELIVERY_VALIDITY, *given) =>
            {
                self.state = State::Expired;
            }
            (State::Accepted | State::Ready, Step::Damaged { path }) => {
                self.damaged = Some(StoredPath(path.clone()));
            }
            // A saved picture is one even if it was given up before. It may be saved again.
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
        // The poll may have gone to a part of the service that does not know the task yet.
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

    /// Nothing polls the task of a closed record, so its URL need not be signed.
    fn without_signature(&mut self) {
        if self.state.is_closed() {
            self.task = self.task.take().map(TaskRef::without_signature);
        }
    }

    fn join(self, other: Self) -> Self {
        // The text decides between two pictures, or two failures: any rule is right that does not
        // depend on the order.
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
            // A poll that found the task is kept as `None`.
            not_found_date: less.not_found_date.zip(more.not_found_date).map(|(a, b)| a.max(b)),
        }
    }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// Whether the clock of the service proves that so much time has passed. The clock of this machine
/// proves nothing, because people and programs set it.
fn has_passed(since: Option<u64>, wait: Duration, now: Option<SystemTime>) -> bool {
    let passed = since.zip(now).map(|(since, now)| now.duration_since(time(since)));
    passed.is_some_and(|passed| passed.is_ok_and(|passed| passed >= wait))
}
