//! A selection of the jobs of a ledger.

use std::time::SystemTime;

use crate::JobState;

/// Selects jobs of a ledger. Without conditions, it selects all of them.
///
/// ```
/// use imagekiln_batch::{Filter, JobState};
///
/// let failed = Filter::all().state(JobState::Failed).group("anna");
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Filter {
    /// `None` selects all states.
    pub(crate) states: Option<Vec<JobState>>,
    pub(crate) name: Option<String>,
    /// Names of jobs, and ids of tasks. `None` selects all jobs.
    pub(crate) named: Option<Vec<String>>,
    pub(crate) sent_after: Option<SystemTime>,
    pub(crate) sent_before: Option<SystemTime>,
    pub(crate) operation: Option<String>,
    pub(crate) group: Option<String>,
}

impl Filter {
    /// Selects all jobs.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects jobs in this state, or in one of the other states that were set.
    pub fn state(self, state: JobState) -> Self {
        self.states([state])
    }

    /// Selects jobs in these states, or in one of the other states that were set.
    pub fn states(mut self, states: impl IntoIterator<Item = JobState>) -> Self {
        self.states.get_or_insert_default().extend(states);
        self
    }

    /// Selects the job with this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Selects the jobs that have one of these texts as their name, or as the id of the task of
    /// their current submission. There may be any number of texts.
    pub fn named(mut self, named: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.named = Some(named.into_iter().map(Into::into).collect());
        self
    }

    /// Selects the jobs whose current submission was sent at this time or later; see
    /// [`JobStatus::sent_at`](crate::JobStatus::sent_at).
    pub fn sent_after(mut self, time: SystemTime) -> Self {
        self.sent_after = Some(time);
        self
    }

    /// Selects the jobs whose current submission was sent before this time.
    pub fn sent_before(mut self, time: SystemTime) -> Self {
        self.sent_before = Some(time);
        self
    }

    /// Selects the jobs of the operation with this name, such as `gen-2-pro`.
    pub fn operation(mut self, operation: impl Into<String>) -> Self {
        self.operation = Some(operation.into());
        self
    }

    /// Selects the jobs of this [group](crate::Job::group).
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }
}
