//! The entry of a job on the sheet.

use std::fmt;

use crate::JobState;

/// The entry of a job on a [`Sheet`](super::Sheet).
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct SheetEntry {
    /// The name of the job.
    pub name: String,
    /// The prompt, if the request has one.
    pub prompt: Option<String>,
    /// The name of the operation, such as `gen-2-pro`.
    pub model: String,
    /// The seed, if the request has one.
    pub seed: Option<i64>,
    /// The cost in credits, if the service reported it.
    pub credits: Option<f64>,
    /// The state of the job.
    pub state: JobState,
    /// Why the job is in this state, or why it could not leave it.
    pub reason: Option<String>,
    /// The id of its task, if the service accepted the job.
    pub task_id: Option<String>,
    /// The path of the picture, relative to the directory of the sheet and separated by `/`.
    pub link: Option<String>,
    /// The content of the picture's file.
    pub picture: Option<Vec<u8>>,
}

impl SheetEntry {
    /// Creates an entry in which the optional fields are `None`.
    pub fn new(name: impl Into<String>, model: impl Into<String>, state: JobState) -> Self {
        Self {
            name: name.into(),
            prompt: None,
            model: model.into(),
            seed: None,
            credits: None,
            state,
            reason: None,
            task_id: None,
            link: None,
            picture: None,
        }
    }

    /// Whether the job may have been billed and its cost is not known.
    pub(super) fn is_without_cost(&self) -> bool {
        let may_be_billed = matches!(self.state, JobState::Submitting | JobState::Unknown);
        self.credits.is_none() && (may_be_billed || self.task_id.is_some())
    }
}

/// Without the content of the file.
impl fmt::Debug for SheetEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SheetEntry")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
