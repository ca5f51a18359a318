//! Failures of ledgers and batches.

use std::{error::Error as _, mem};

use super::{Failure, exit::Exit};
use imagekiln::TaskRef;
use imagekiln_batch::{Error, ErrorKind, JobState};

/// The kind of failure of a ledger that may not contain everything that was paid for.
pub const FOREIGN: &str = "foreign";

/// The kind of failure of a ledger that another process has opened.
pub const LOCKED: &str = "locked";

/// The exit code for a job that was submitted and has no picture.
pub fn exit_of_job(state: JobState) -> Option<Exit> {
    match state {
        JobState::Unknown | JobState::Submitting => Some(Exit::BillingUnknown),
        JobState::Submitted | JobState::Ready | JobState::Damaged | JobState::Expired => {
            Some(Exit::Continues)
        }
        JobState::Moderated => Some(Exit::Moderated),
        JobState::Failed => Some(Exit::TaskFailed),
        _ => None,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut failure = Self::first(&error);
        if error.may_have_been_billed() {
            failure.billing_unknown = true;
            failure.exit = Exit::BillingUnknown;
        }
        failure.with_unrecorded(error.tasks().to_vec())
    }
}

impl Failure {
    /// Adds the accepted tasks that the ledger could not record. They are paid for, so they decide
    /// about the exit code and the advice.
    pub fn with_unrecorded(mut self, tasks: Vec<TaskRef>) -> Self {
        let plural = match tasks.len() {
            0 => return self,
            1 => "a task",
            _ => "tasks",
        };
        self.billing_unknown = true;
        self.exit = Exit::BillingUnknown;
        self.task = self.task.take().or_else(|| tasks.first().cloned());
        self.unrecorded = tasks;
        self.advise(format!(
            "the service billed {plural} that the ledger could not record; keep the commands above"
        ))
    }

    /// The failure without the tasks that the ledger could not record.
    fn first(error: &Error) -> Self {
        let message = error.to_string();
        if let Some(client) = error.client_error() {
            let mut failure = Self::from(client);
            let cause = mem::replace(&mut failure.message, message);
            failure.causes.insert(0, cause);
            return failure;
        }
        let (kind, exit) = match error.kind() {
            ErrorKind::Locked => (LOCKED, Exit::Other),
            ErrorKind::Job => ("validation", Exit::Usage),
            ErrorKind::State => ("state", Exit::Usage),
            ErrorKind::Foreign => (FOREIGN, Exit::Other),
            ErrorKind::Elsewhere => ("elsewhere", Exit::Usage),
            ErrorKind::Hold => ("hold", Exit::Other),
            ErrorKind::File => ("file", Exit::Other),
            ErrorKind::Outage => (imagekiln::ErrorKind::Outage.as_str(), Exit::Network),
            ErrorKind::Client => ("other", Exit::Other),
            _ => ("ledger", Exit::Other),
        };
        let mut failure = Self::new(kind, exit, message);
        failure.causes = super::causes(error.source());
        failure
    }
}
