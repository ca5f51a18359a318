//! Jobs, and their status in the ledger.

use std::{
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use imagekiln::{Request, Submit};
use serde::Serialize;

use crate::{Error, ErrorKind, JobState, Template, time};

/// A request, a name, and the file for its picture.
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
}

impl Job {
    /// Creates a job. `name` is unique within the ledger. `target` is the path of the picture below
    /// the output, with its extension. It may contain the fields of a [`Template`].
    pub fn new(name: impl Into<String>, target: impl Into<PathBuf>, request: impl Submit) -> Self {
        Self { name: name.into(), target: target.into(), request: request.into_request() }
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
    /// The path of the picture below the output, or its template.
    pub target: String,
    /// The state of the job.
    pub state: JobState,
    /// Why the job is in this state, or why it could not leave it.
    pub reason: Option<String>,
    /// The id of its task, if the service accepted the job.
    pub task_id: Option<String>,
    /// The cost in credits, if the service reported it.
    pub credits: Option<f64>,
    /// The absolute path or the URL of the picture, if the job is [`Ready`](JobState::Ready) or
    /// [`Saved`](JobState::Saved).
    pub location: Option<String>,
    /// When the job was added.
    #[serde(serialize_with = "time::serialize")]
    pub added_at: SystemTime,
    /// When the ledger recorded its task.
    #[serde(serialize_with = "time::serialize_some")]
    pub submitted_at: Option<SystemTime>,
    /// When its picture became ready.
    #[serde(serialize_with = "time::serialize_some")]
    pub ready_at: Option<SystemTime>,
    /// When its state last changed.
    #[serde(serialize_with = "time::serialize")]
    pub changed_at: SystemTime,
}
