//! A task from its submission to its final status.

mod acceptance;
mod deadline;
mod exchange;
mod poll;
#[cfg(feature = "webhook")]
mod recent;
mod refusal;
mod resume;
mod slots;
mod submission;
mod submissions;
mod submit;
mod tasks;
mod update;
mod updates;
mod wait;
mod waits;

use std::sync::Arc;

pub use acceptance::Answer;
#[cfg(feature = "webhook")]
pub(crate) use acceptance::WRAPPERS;
#[cfg(feature = "axum")]
pub(crate) use recent::Recent;
pub use resume::Unfinished;
use slots::Slots;
use submissions::Submissions;
pub(crate) use tasks::{TaskSettings, Tasks};
pub use update::Update;
pub use updates::Updates;
pub use wait::WaitOptions;
#[cfg(feature = "axum")]
pub(crate) use wait::outcome;
use waits::Waits;

use crate::{Client, TaskRef};

/// A task of the service: accepted, paid, and on its way to a picture.
///
/// Dropping it stops nothing at the service: the task goes on, and [`Client::task`] resumes it from
/// its [`reference`](Self::reference).
#[derive(Debug, Clone)]
#[must_use = "the task is paid: wait for it, or keep its reference"]
pub struct Task {
    client: Client,
    reference: TaskRef,
    answer: Option<Arc<Answer>>,
}

impl Task {
    pub(crate) fn resumed(client: Client, reference: TaskRef) -> Self {
        Self { client, reference, answer: None }
    }

    /// What another process needs to resume the task: it serialises.
    pub fn reference(&self) -> &TaskRef {
        &self.reference
    }

    /// The service's identifier of the task.
    pub fn id(&self) -> &str {
        self.reference.id()
    }

    /// What the submission cost, in credits, if the service said so.
    pub fn cost(&self) -> Option<f64> {
        self.reference.cost()
    }

    /// The megapixels of the images that were sent, with 2 decimal places, if the service said so. A
    /// resumed task does not know.
    pub fn input_mp(&self) -> Option<f64> {
        match self.answer()? {
            Answer::Async(answer) => answer.input_mp,
            Answer::Webhook(answer) => answer.input_mp,
        }
    }

    /// The megapixels of the picture to come, with 2 decimal places, if the service said so. A
    /// resumed task does not know.
    pub fn output_mp(&self) -> Option<f64> {
        match self.answer()? {
            Answer::Async(answer) => answer.output_mp,
            Answer::Webhook(answer) => answer.output_mp,
        }
    }

    /// The response to the submission, with all that the service said. A resumed task does not have
    /// it.
    pub fn answer(&self) -> Option<&Answer> {
        self.answer.as_deref()
    }
}
