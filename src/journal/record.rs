//! The life of a paid picture: one record, and the table of steps that change it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::Account;
use crate::{DELIVERY_VALIDITY, TaskRef, TaskStatus};

/// How long after the first `Task not found` a second one proves that the task is gone.
pub(crate) const NOT_FOUND_PROOF: Duration = Duration::from_secs(600);

/// What a submission is for. A [`Journal`](super::Journal) keeps it, so that the program still
/// knows after a crash. It is never sent to the service.
///
/// ```
/// use imagekiln::journal::Origin;
///
/// let origin = Origin::new("fox-7").target("foxes/7.png");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Origin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<StoredPath>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    context: Value,
    /// The digest of the request, which the client sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_sha256: Option<String>,
}

impl Origin {
    /// Creates an origin with a label in the words of the program, for example the name of a job.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..Self::default() }
    }

    /// Sets where the picture is meant to be saved. The client does not use it.
    pub fn target(mut self, path: impl Into<PathBuf>) -> Self {
        self.target = Some(StoredPath(path.into()));
        self
    }

    /// Sets the group of the submission: a user, an order or a campaign. A journal can limit what
    /// each group costs.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Sets a value of the program, which [`Intent::context`] returns. It is stored as JSON, and
    /// must not contain secrets. A value that has no form in JSON is not kept.
    pub fn context(mut self, value: &impl Serialize) -> Self {
        self.context = serde_json::to_value(value).unwrap_or_default();
        self
    }

    pub(crate) fn of_request(self, sha256: Option<String>) -> Self {
        Self { request_sha256: sha256, ..self }
    }
}

impl<T: Into<String>> From<T> for Origin {
    fn from(label: T) -> Self {
        Self::new(label)
    }
}

/// A submission that is about to be sent or was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    id: String,
    operation: String,
    /// Seconds since the Unix epoch.
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<Account>,
    #[serde(flatten)]
    origin: Origin,
}

impl Intent {
    pub(crate) fn new(operation: &str, at: SystemTime, origin: Origin) -> Self {
        let mut random = fastrand::Rng::new();
        Self {
            id: format!("{:016x}{:016x}", random.u64(..), random.u64(..)),
            operation: operation.to_owned(),
            at: seconds(at),
            account: None,
            origin,
        }
    }

    pub(crate) fn of_account(self, account: Account) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Returns the unique id of the submission: 32 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name of the operation, such as `gen-2-pro`.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Returns when the submission was about to be sent, in whole seconds.
    pub fn at(&self) -> SystemTime {
        time(self.at)
    }

    /// Returns the service and the API key of the submission. `None` if an earlier version wrote
    /// the record.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Returns the label that the program gave the submission; see [`Origin::new`].
    pub fn label(&self) -> Option<&str> {
        self.origin.label.as_deref()
    }

    /// Returns where the picture is meant to be saved, if the program said so; see
    /// [`Origin::target`].
    pub fn target(&self) -> Option<&Path> {
        self.origin.target.as_ref().map(|path| &*path.0)
    }

    /// Returns the group of the submission, if it has one; see [`Origin::group`].
    pub fn group(&self) -> Option<&str> {
        self.origin.group.as_deref()
    }

    /// Returns the [digest](crate::Request::digest) of the request. `None` if the request has no
    /// stored form, or if an earlier version wrote the record.
    pub fn request_sha256(&self) -> Option<&str> {
        self.origin.request_sha256.as_deref()
    }

    /// Returns the value of the program; see [`Origin::context`]. `None` if there is none, or if
    /// it is not a `T`.
    pub fn context<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(&self.origin.context).ok()
    }
}

/// Where a submission is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// The service may have accepted the submission. The client never sends it again.
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
    /// A poll returned this failure: there will be no picture.
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
    pub(super) fn rank(&self) -> u8 {
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
    /// The service accepted the submission as this task: its response says so, or a poll has
    /// confirmed what a webhook or a person said.
    Accepted(TaskRef),
    /// A poll succeeded.
    Polled {
        /// The status of the task.
        status: TaskStatus,
        /// When the poll was sent.
        at: SystemTime,
    },
    /// The delivery host refused a URL.
    Refused {
        /// When the poll was sent that returned the URL.
        given_at: SystemTime,
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
    state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<TaskRef>,
    /// When a poll first returned `Ready`, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ready_at: Option<u64>,
    /// When a poll first returned `Task not found`, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_found_at: Option<u64>,
}

impl Record {
    /// Creates the record of a submission that is about to be sent.
    pub fn new(intent: Intent) -> Self {
        Self { intent, state: State::Unknown, task: None, ready_at: None, not_found_at: None }
    }

    /// Returns the submission.
    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// Returns where the submission is in its life.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the task, once the service has accepted the submission.
    pub fn task(&self) -> Option<&TaskRef> {
        self.task.as_ref()
    }

    /// Returns when a poll first returned `Ready`, in whole seconds. The validity of the delivery
    /// URL counts from then.
    pub fn ready_at(&self) -> Option<SystemTime> {
        self.ready_at.map(time)
    }

    /// Applies a step, and returns whether the record has changed.
    ///
    /// This is the only place that decides what follows from a step. Whatever stores records runs
    /// it: [`Directory`](super::Directory), the history of `kiln`, and the ledger of
    /// `imagekiln-batch`. A record is closed without a picture only by a poll that succeeded, or by
    /// a person.
    pub fn advance(&mut self, step: &Step) -> bool {
        let before = self.clone();
        match (&self.state, step) {
            (State::Unknown, Step::NotBilled) => self.state = State::NotBilled,
            // A task proves that the submission was billed, whatever a person has found out.
            (State::Unknown | State::NotBilled | State::Settled, Step::Accepted(task))
                if self.task.is_none() =>
            {
                self.task = Some(task.clone().of_submission(self.intent.id()));
                self.state = State::Accepted;
            }
            // A webhook or a person found the task, and the response says what it costs.
            (_, Step::Accepted(task)) => {
                self.task = self.task.take().map(|known| known.completed_by(task));
            }
            (State::Unknown | State::Accepted | State::Ready, Step::Settled) => {
                self.state = State::Settled;
            }
            (State::Accepted | State::Ready, Step::Polled { status, at }) => {
                self.polled(status, *at);
            }
            // The URL should be valid, although the first one no longer is.
            (State::Accepted | State::Ready, Step::Refused { given_at })
                if has_passed(self.ready_at, DELIVERY_VALIDITY, *given_at) =>
            {
                self.state = State::Expired;
            }
            // A saved picture is one even if it was given up before.
            (
                State::Accepted | State::Ready | State::Failed(_) | State::Expired | State::Settled,
                Step::Saved { path, bytes, sha256 },
            ) if self.task.is_some() => {
                let (path, sha256) = (path.clone(), sha256.clone());
                self.state = State::Saved { path, bytes: *bytes, sha256 };
            }
            _ => {}
        }
        if self.state.is_closed() && !before.state.is_closed() {
            self.task = self.task.take().map(TaskRef::without_signature);
        }
        *self != before
    }

    fn polled(&mut self, status: &TaskStatus, at: SystemTime) {
        // The poll may have gone to a part of the service that does not know the task yet.
        if *status == TaskStatus::TaskNotFound {
            self.not_found_at = first(self.not_found_at, at);
            if has_passed(self.not_found_at, NOT_FOUND_PROOF, at) {
                self.state = State::Failed(status.clone());
            }
        } else if status.is_failure() {
            self.state = State::Failed(status.clone());
        } else {
            self.not_found_at = None;
            if status.is_success() {
                self.ready_at = first(self.ready_at, at);
                self.state = State::Ready;
            }
        }
    }
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns the earlier time: the clock may have been set back since the other one.
fn first(known: Option<u64>, at: SystemTime) -> Option<u64> {
    Some(known.map_or(seconds(at), |known| known.min(seconds(at))))
}

/// Whether `at` is at least this long after a time in seconds since the Unix epoch.
fn has_passed(since: Option<u64>, wait: Duration, at: SystemTime) -> bool {
    since.is_some_and(|since| at.duration_since(time(since)).is_ok_and(|passed| passed >= wait))
}

/// A file may contain any number of seconds.
fn time(seconds: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH)
}

/// A path. Not every path is valid Unicode, so not every path is text in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredPath(#[serde(with = "stored_path")] PathBuf);

mod stored_path {
    use std::{
        ffi::OsString,
        path::{Path, PathBuf},
    };

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Text(String),
        Raw(OsString),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => path.as_os_str().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Stored::deserialize(from)? {
            Stored::Text(text) => text.into(),
            Stored::Raw(raw) => raw.into(),
        })
    }
}
