//! A task from its submission to its final status.

mod acceptance;
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
mod update;
mod updates;
mod wait;
mod waits;

#[cfg(feature = "webhook")]
pub(crate) use acceptance::WRAPPERS;
#[cfg(feature = "axum")]
pub(crate) use recent::Recent;
pub use resume::Unfinished;
pub(crate) use slots::Slots;
pub(crate) use submissions::Submissions;
pub use update::Update;
pub use updates::Updates;
pub use wait::WaitOptions;
#[cfg(feature = "axum")]
pub(crate) use wait::outcome;
pub(crate) use waits::Waits;

use crate::{Client, TaskRef};

/// A task of the service: accepted, paid, and on its way to a picture.
///
/// Dropping it stops nothing at the service: the task goes on, and [`Client::task`] resumes it from
/// its [`reference`](Self::reference).
#[derive(Debug, Clone)]
pub struct Task {
    client: Client,
    reference: TaskRef,
    charge: Charge,
}

/// What the answer to the submission said of its cost; all of it is optional in the contract.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Charge {
    cost: Option<f64>,
    input_mp: Option<f64>,
    output_mp: Option<f64>,
}

impl Task {
    pub(crate) fn resumed(client: Client, reference: TaskRef) -> Self {
        Self { client, reference, charge: Charge::default() }
    }

    /// What another process needs to resume the task: it serialises.
    pub fn reference(&self) -> &TaskRef {
        &self.reference
    }

    /// The service's identifier of the task.
    pub fn id(&self) -> &str {
        self.reference.id()
    }

    /// What the submission cost, in credits, where the service said so. A resumed task does not
    /// know.
    pub fn cost(&self) -> Option<f64> {
        self.charge.cost
    }

    /// The megapixels of the images sent, where the service said so; 2 decimal places.
    pub fn input_mp(&self) -> Option<f64> {
        self.charge.input_mp
    }

    /// The megapixels of the picture to come, where the service said so; 2 decimal places.
    pub fn output_mp(&self) -> Option<f64> {
        self.charge.output_mp
    }
}
