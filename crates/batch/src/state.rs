//! The states of a job.

use std::fmt;

use serde::Serialize;

/// The state of a job. A worker writes each state to the ledger before it takes the step that the
/// state announces, so the ledger knows about every submission, even after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobState {
    /// Waiting to be submitted: for the first time, after a submission that was not billed, or
    /// because a person [retried](crate::Jobs::retry) the job.
    Queued,
    /// Being submitted. The response of the service has not arrived yet.
    Submitting,
    /// The service accepted and billed the job. Its task is in the ledger.
    Submitted,
    /// The picture is ready and is being saved.
    Ready,
    /// The picture is on disk.
    Saved,
    /// The file that the worker downloaded is damaged or incomplete, in several attempts. The
    /// worker keeps its bytes, and a person [accepts](crate::Resolution::Damaged) them, lets the
    /// next run [download](crate::Jobs::retry) the picture again, or gives the picture up.
    Damaged,
    /// The job could not be submitted, its request or its task failed, or a person gave up a
    /// picture that was billed, because its task is not known or its file is damaged.
    Failed,
    /// Moderation stopped the task.
    Moderated,
    /// The picture can no longer be downloaded: the delivery host refused even a URL that a poll
    /// had returned ten minutes or more after the picture was first ready.
    Expired,
    /// The service may have accepted and billed the submission, but its response was lost. Workers
    /// do not submit the job again, because it could be paid for twice. The job continues when a
    /// webhook brings its task, or when a person [resolves](crate::Jobs::resolve) it.
    Unknown,
    /// A person [cancelled](crate::Jobs::cancel) the job before it was submitted.
    Cancelled,
}

impl JobState {
    /// All states, in the order of a job's life: for `kiln`.
    #[doc(hidden)]
    pub const ALL: [Self; 11] = [
        Self::Queued,
        Self::Submitting,
        Self::Submitted,
        Self::Ready,
        Self::Saved,
        Self::Damaged,
        Self::Failed,
        Self::Moderated,
        Self::Expired,
        Self::Unknown,
        Self::Cancelled,
    ];

    /// The states in which a job can be [retried](crate::Jobs::retry): it ended without a picture.
    /// For `kiln`.
    #[doc(hidden)]
    pub const RETRIABLE: &[Self] =
        &[Self::Damaged, Self::Failed, Self::Moderated, Self::Expired, Self::Cancelled];

    /// The states in which a job can be [forgotten](crate::Jobs::forget) without losing a picture
    /// that is paid for and not saved yet. For `kiln`.
    #[doc(hidden)]
    pub const FORGETTABLE: &[Self] = &[
        Self::Queued,
        Self::Saved,
        Self::Damaged,
        Self::Failed,
        Self::Moderated,
        Self::Expired,
        Self::Cancelled,
    ];

    /// Returns the name of the state in the ledger and in JSON, for example `queued`, which
    /// `Display` prints, too.
    #[doc(hidden)]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Submitting => "submitting",
            Self::Submitted => "submitted",
            Self::Ready => "ready",
            Self::Saved => "saved",
            Self::Damaged => "damaged",
            Self::Failed => "failed",
            Self::Moderated => "moderated",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// Returns the condition that a job is in one of the states.
pub(crate) fn state_in(states: &[JobState]) -> String {
    let names: Vec<_> = states.iter().map(|state| format!("'{state}'")).collect();
    format!("state IN ({})", names.join(", "))
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
