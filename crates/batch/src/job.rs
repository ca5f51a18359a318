//! Jobs, and their status in the ledger.

use std::{
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use imagekiln::{Request, Submit};
use imagekiln_label::Template;
use serde::Serialize;
use serde_json::Value;

use crate::{Error, ErrorKind, JobState, output::Output, time};

/// A picture to make: a request, a name, and the file for the picture.
///
/// ```
/// use imagekiln::types::Gen2Pro;
/// use imagekiln_batch::Job;
///
/// let job = Job::new("fox-1", "foxes/1.png", Gen2Pro::new("a red fox").seed(1));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a job does nothing until it is added to a ledger"]
pub struct Job {
    pub(crate) name: String,
    pub(crate) target: PathBuf,
    pub(crate) request: Request,
    pub(crate) group: Option<String>,
    pub(crate) metadata: Option<Value>,
    pub(crate) priority: i64,
}

/// The maximum length of the name of a group in bytes.
const LONGEST_GROUP: usize = 200;

impl Job {
    /// The maximum size of the metadata of a job in bytes of JSON: for `kiln`, which names the line
    /// of a job file that has more.
    #[doc(hidden)]
    pub const MAX_METADATA: usize = 16 * 1024;

    /// Creates a job. `name` must be unique within the ledger, because it is the idempotency key of
    /// the picture: [`Client::submit_once`](imagekiln::Client::submit_once) with this key, and with
    /// the ledger as its journal, finds the submission of the job instead of paying for the picture
    /// again. `target` is the path of the picture below the output, with its extension. It may
    /// contain the fields of a [`Template`].
    pub fn new(name: impl Into<String>, target: impl Into<PathBuf>, request: impl Submit) -> Self {
        Self {
            name: name.into(),
            target: target.into(),
            request: request.into_request(),
            group: None,
            metadata: None,
            priority: 0,
        }
    }

    /// Sets the group of the job, such as a user, an order or a campaign: 1 to 200 bytes. A ledger
    /// can [limit](crate::Limits::set_budget) what each group costs, and
    /// [reports](crate::Reports::spending) it.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Sets a value of the program, which [`JobStatus::metadata`] returns: at most 16 KiB of JSON.
    /// The value is never sent to the service. It must not contain secrets, because the ledger
    /// stores it as it is.
    pub fn metadata(mut self, metadata: Value) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Sets the priority. Jobs with a higher priority are submitted first. The default is 0.
    pub fn priority(mut self, priority: i64) -> Self {
        self.priority = priority;
        self
    }

    /// Returns the metadata in JSON. Fails if the metadata is too long, or if the group is empty or
    /// too long.
    pub(crate) fn checked_metadata(&self) -> Result<Option<String>, Error> {
        let refuse = |why: &str| {
            let message = format!("the {why} of job `{}` is too long or empty", self.name);
            Error::new(ErrorKind::Job, message)
        };
        if self.group.as_ref().is_some_and(|group| !is_group(group)) {
            return Err(refuse("group"));
        }
        match self.metadata.as_ref().map(Value::to_string) {
            Some(metadata) if metadata.len() > Self::MAX_METADATA => Err(refuse("metadata")),
            metadata => Ok(metadata),
        }
    }

    /// Returns the target as text if it cannot leave the output directory.
    pub(crate) fn checked_target(&self) -> Result<&str, Error> {
        let refuse = |why: &str| {
            let message = format!("the target of job `{}` {why}", self.name);
            Error::new(ErrorKind::Job, message)
        };
        if self.name.is_empty() {
            return Err(Error::new(ErrorKind::Job, "the name of a job is empty"));
        }
        let is_below = |path: &Path| {
            path.components().all(|component| matches!(component, Component::Normal(_)))
        };
        if !is_below(&self.target) || self.target.file_name().is_none() {
            return Err(refuse("is not a path below the output directory"));
        }
        let target = self.target.to_str().ok_or_else(|| refuse("is not valid Unicode"))?;
        Template::parse(target).map_err(|error| refuse("is invalid").with_source(error))?;
        Ok(target)
    }
}

impl JobStatus {
    /// Reads the picture of a [`Saved`](JobState::Saved) job from its folder or bucket, for the
    /// thumbnails of `kiln`. Returns `None` for other jobs, and if the picture was removed.
    ///
    /// # Errors
    ///
    /// Kind [`File`](ErrorKind::File): the picture cannot be read.
    #[doc(hidden)]
    pub async fn read_picture(&self) -> Result<Option<Vec<u8>>, Error> {
        match self.location.as_deref().filter(|_| self.state == JobState::Saved) {
            Some(location) => {
                let (output, key) = Output::of_location(location)?;
                output.read(&key).await
            }
            None => Ok(None),
        }
    }
}

/// Whether a text can be the name of a group.
pub(crate) fn is_group(name: &str) -> bool {
    (1..=LONGEST_GROUP).contains(&name.len())
}

/// The status of a job in the ledger. In JSON, times are text in RFC 3339, in UTC.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobStatus {
    /// The name of the job.
    pub name: String,
    /// The position of the job in the ledger, starting at 1.
    pub number: u64,
    /// The name of the operation, such as `gen-2-pro`.
    pub operation: String,
    /// The number of pixels that a price per megapixel counts for the job; see [`Price::of`].
    ///
    /// [`Price::of`]: crate::Price::of
    pub pixels: u64,
    /// The path of the picture below the output, or its template.
    pub target: String,
    /// The group of the job; see [`Job::group`].
    pub group: Option<String>,
    /// The value of the program; see [`Job::metadata`].
    pub metadata: Option<Value>,
    /// The priority of the job; see [`Job::priority`].
    pub priority: i64,
    /// The state of the job.
    pub state: JobState,
    /// Why the job is in this state, or why it could not leave the state. For a
    /// [`Saved`](JobState::Saved) job, how its picture differs from what the request asked for.
    pub reason: Option<String>,
    /// How often the job was submitted, in all runs, including submissions whose responses were
    /// lost. Submissions that are known not to have been billed do not count.
    /// [`Jobs::retry`](crate::Jobs::retry) can bound this number.
    pub submissions: u64,
    /// The id of the task, if the service accepted the job.
    pub task_id: Option<String>,
    /// The cost in credits, if the service reported it.
    pub credits: Option<f64>,
    /// The absolute path or the URL of the picture, if the job is [`Ready`](JobState::Ready) or
    /// [`Saved`](JobState::Saved). If the job is [`Damaged`](JobState::Damaged), the location of
    /// the damaged file.
    pub location: Option<String>,
    /// When the job was added.
    #[serde(serialize_with = "time::serialize")]
    pub added_at: SystemTime,
    /// When the current submission was sent. The ledger records this time just before the client
    /// sends the request. `None` if the job was not submitted since it was added or retried.
    #[serde(serialize_with = "time::serialize_some")]
    pub sent_at: Option<SystemTime>,
    /// When the ledger recorded the task.
    #[serde(serialize_with = "time::serialize_some")]
    pub submitted_at: Option<SystemTime>,
    /// When the picture became ready.
    #[serde(serialize_with = "time::serialize_some")]
    pub ready_at: Option<SystemTime>,
    /// When the state of the job last changed.
    #[serde(serialize_with = "time::serialize")]
    pub changed_at: SystemTime,
}

/// Selects jobs of a ledger: those that meet all conditions that are set. The default has no
/// condition, and selects all jobs.
///
/// ```
/// use imagekiln_batch::{Filter, JobState};
///
/// let failed = Filter::states([JobState::Failed]);
/// let of_anna = Filter { group: Some("anna".to_owned()), ..failed };
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// The jobs in one of these states.
    pub states: Option<Vec<JobState>>,
    /// The jobs that have one of these texts as their name, or as the id of the task of their
    /// current submission. There may be any number of texts.
    pub names: Option<Vec<String>>,
    /// The jobs of the operation with this name, such as `gen-2-pro`.
    pub operation: Option<String>,
    /// The jobs of this [group](Job::group).
    pub group: Option<String>,
    /// The jobs whose current submission was sent at this time or later; see
    /// [`JobStatus::sent_at`].
    pub sent_after: Option<SystemTime>,
    /// The jobs whose current submission was sent before this time.
    pub sent_before: Option<SystemTime>,
}

impl Filter {
    /// Selects the jobs in one of these states.
    pub fn states(states: impl IntoIterator<Item = JobState>) -> Self {
        Self { states: Some(states.into_iter().collect()), ..Self::default() }
    }

    /// Selects the jobs with these [names](Self::names), or with tasks of these ids. An id that is
    /// also the name of a job selects that job only.
    pub fn named(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { names: Some(names.into_iter().map(Into::into).collect()), ..Self::default() }
    }
}
