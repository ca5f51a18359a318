//! The outcome of a task, and what its request selects of it.

use serde::{Deserialize, Serialize};

use crate::faults::RequestedFaults;

/// The final status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    #[default]
    Ready,
    Error,
    RequestModerated,
    ContentModerated,
    NotFound,
}

impl Outcome {
    /// Whether a status is final.
    pub(crate) fn is_final(status: &str) -> bool {
        let all = [
            Self::Ready,
            Self::Error,
            Self::RequestModerated,
            Self::ContentModerated,
            Self::NotFound,
        ];
        all.into_iter().any(|outcome| outcome.status() == status)
    }

    /// The status in a poll response, as in the contract.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Error => "Error",
            Self::RequestModerated => "Request Moderated",
            Self::ContentModerated => "Content Moderated",
            Self::NotFound => "Task not found",
        }
    }
}

/// An in-progress status that no client knows.
pub(crate) const UNKNOWN_STATUS: &str = "Warming the kiln";

/// What the words in a request select.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Directives {
    pub(crate) outcome: Outcome,
    pub(crate) unknown_status: bool,
    /// Why the task fails, if it does.
    pub(crate) reason: Option<String>,
    pub(crate) faults: RequestedFaults,
}
