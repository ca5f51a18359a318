//! The states of jobs and submissions, and their names in SQL.

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

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The state of a submission in the ledger, which follows from its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubmissionState {
    /// Sent, or about to be, without a response.
    Open,
    /// Billed, and not finished.
    Accepted,
    /// Nothing is left to do.
    Settled,
    /// Not billed.
    Withdrawn,
}

impl fmt::Display for SubmissionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Accepted => "accepted",
            Self::Settled => "settled",
            Self::Withdrawn => "withdrawn",
        })
    }
}

/// Some states. `Display` writes the condition that a job or a submission is in one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct States<'s, S = JobState>(pub(crate) &'s [S]);

/// The states in which a job can have a worker that continues it. SQLite only uses an index of
/// these jobs if a condition contains the same text.
pub(crate) const OPEN: States<'_> =
    States(&[JobState::Queued, JobState::Submitting, JobState::Submitted, JobState::Ready]);

/// The states between the submission of a job and its saved picture.
pub(crate) const ACTIVE: States<'_> =
    States(&[JobState::Submitting, JobState::Submitted, JobState::Ready]);

/// The states in which a job is paid for, and its picture is not saved yet.
pub(crate) const PAID: States<'_> = States(&[JobState::Submitted, JobState::Ready]);

/// The states of a job without a submission that may be billed, to which a late task returns.
pub(crate) const NOT_SUBMITTED: States<'_> = States(&[JobState::Queued, JobState::Cancelled]);

/// The states of submissions that are not known to have ended.
pub(crate) const UNFINISHED: States<'_, SubmissionState> =
    States(&[SubmissionState::Open, SubmissionState::Accepted]);

impl<S: fmt::Display> fmt::Display for States<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|state| format!("'{state}'")).collect();
        write!(f, "state IN ({})", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::*;

    const SCHEMAS: [&str; 2] = ["sqlite", "postgres"];

    /// The other words in single quotes in SQL.
    const OTHERS: [&str; 7] = [
        "advisory",
        "group",
        "job_numbers",
        "ledger",
        "lock_timeout",
        "operation",
        "schema_version",
    ];

    fn package() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }

    fn names<S: fmt::Display>(states: &[S]) -> BTreeSet<String> {
        states.iter().map(ToString::to_string).collect()
    }

    fn of_jobs() -> BTreeSet<String> {
        names(&JobState::ALL)
    }

    fn of_submissions() -> BTreeSet<String> {
        use SubmissionState::{Accepted, Open, Settled, Withdrawn};
        names(&[Open, Accepted, Settled, Withdrawn])
    }

    /// Returns the words in single quotes of a text, without those in comments and in tests.
    fn quoted(text: &str) -> BTreeSet<String> {
        let (text, _) = text.split_once("#[cfg(test)]").unwrap_or((text, ""));
        let is_code =
            |line: &&str| !["//", "--"].iter().any(|of| line.trim_start().starts_with(of));
        let is_word = |part: &&str| {
            part.len() > 1 && part.bytes().all(|c| c.is_ascii_lowercase() || c == b'_')
        };
        let lines = text.lines().filter(is_code);
        let parts = lines.flat_map(|line| line.split('\'').skip(1).step_by(2));
        parts.filter(is_word).map(str::to_owned).collect()
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn sql_names_only_states_that_exist() {
        let known: BTreeSet<_> = of_jobs().union(&of_submissions()).cloned().collect();
        let directories = ["src", "migrations"].map(|name| files(&package().join(name)));
        let mut found = BTreeSet::new();
        for file in directories.concat() {
            for word in quoted(&fs::read_to_string(&file).unwrap()) {
                let is_known = known.contains(&word) || OTHERS.contains(&&*word);
                assert!(is_known, "'{word}' in {}", file.display());
                found.insert(word);
            }
        }
        assert!(found.is_superset(&known), "{found:?}");
    }

    #[test]
    fn the_tables_accept_the_states_and_have_indices_of_the_sets() {
        for schema in SCHEMAS {
            let script = package().join(format!("migrations/{schema}/0001_ledger.sql"));
            let script = fs::read_to_string(script).unwrap();
            for (table, expected) in [("jobs", of_jobs()), ("submissions", of_submissions())] {
                let (_, table) = script.split_once(&format!("CREATE TABLE {table} (")).unwrap();
                let (_, check) = table.split_once(" state TEXT NOT NULL").unwrap();
                assert_eq!(quoted(check.split_once("))").unwrap().0), expected, "{schema}");
            }
            assert!(script.contains(&format!("WHERE {OPEN};")), "{schema}");
            assert!(script.contains(&format!("WHERE job IS NULL AND {UNFINISHED};")), "{schema}");
        }
    }

    #[test]
    fn a_state_has_the_same_name_in_json() {
        for state in JobState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }
}
