//! A task from its submission to its final status.

mod acceptance;
mod caller;
mod drift;
mod exchange;
mod poll;
#[cfg(feature = "webhook")]
mod recent;
mod refusal;
mod resume;
mod shared;
mod slots;
mod submissions;
mod submit;
mod update;
mod updates;
mod wait;
mod waits;

use std::{
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use url::Url;

pub use self::acceptance::SubmissionResponse;
#[cfg(feature = "webhook")]
pub(crate) use self::acceptance::WRAPPERS;
#[cfg(feature = "axum")]
pub(crate) use self::recent::Recent;
pub use self::resume::Unfinished;
pub(crate) use self::shared::{Shared, TaskSettings};
pub use self::update::Update;
pub use self::updates::Updates;
pub use self::wait::WaitOptions;
#[cfg(feature = "axum")]
pub(crate) use self::wait::outcome;
use crate::{Secret, TaskRef};

/// A task that the service has accepted and billed.
///
/// Dropping a `Task` does not cancel it at the service.
/// [`Client::task`](crate::Client::task) resumes it from its
/// [`reference`](Self::reference).
#[derive(Debug, Clone)]
#[must_use = "the task is billed: wait for it, or keep its reference"]
pub struct Task {
    shared: Arc<Shared>,
    reference: Arc<TaskRef>,
    /// The polling URL, once it was parsed and found to be allowed to receive the key.
    polling_url: Arc<OnceLock<Secret<Url>>>,
    response: Option<Arc<SubmissionResponse>>,
    /// When the task was first seen as `Ready`, if the program knows it.
    ready_since: Option<SystemTime>,
}

impl Task {
    pub(crate) fn resumed(shared: Arc<Shared>, reference: TaskRef) -> Self {
        Self {
            shared,
            reference: Arc::new(reference),
            polling_url: Arc::default(),
            response: None,
            ready_since: None,
        }
    }

    /// Sets when the task was first seen as `Ready`, for programs that have stored
    /// [`Picture::ready_since`](crate::Picture::ready_since) of an earlier poll.
    ///
    /// Pictures of this task expire ten minutes after this time. Without it, or if a poll was sent
    /// earlier, a picture expires ten minutes after the poll that returned it.
    pub fn ready_since(mut self, time: SystemTime) -> Self {
        self.ready_since = Some(time);
        self
    }

    /// Returns the serializable reference, from which another process can resume the task.
    pub fn reference(&self) -> &TaskRef {
        &self.reference
    }

    /// Returns the id of the task.
    pub fn id(&self) -> &str {
        self.reference.id()
    }

    /// Returns the cost of the submission in credits, if the service reported it.
    pub fn cost(&self) -> Option<f64> {
        self.reference.cost()
    }

    /// Returns the size of the input images in megapixels with 2 decimal places, if the service
    /// reported it. `None` for a resumed task.
    pub fn input_mp(&self) -> Option<f64> {
        match self.response()? {
            SubmissionResponse::Async(response) => response.input_mp,
            SubmissionResponse::Webhook(response) => response.input_mp,
        }
    }

    /// Returns the size of the generated picture in megapixels with 2 decimal places, if the
    /// service reported it. `None` for a resumed task.
    pub fn output_mp(&self) -> Option<f64> {
        match self.response()? {
            SubmissionResponse::Async(response) => response.output_mp,
            SubmissionResponse::Webhook(response) => response.output_mp,
        }
    }

    /// Returns the complete response to the submission. `None` for a resumed task.
    pub fn response(&self) -> Option<&SubmissionResponse> {
        self.response.as_deref()
    }
}
