//! Accepted tasks, and submissions with unknown billing, that a run could not record.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use imagekiln::{Client, TaskRef};

use super::LONGEST_SUBMISSION;
use crate::{Error, ErrorKind};

/// What the workers of a batch could not record. It outlives a run that is dropped, so that the
/// next run still returns the billed tasks.
#[derive(Clone, Default)]
pub(super) struct Unrecorded(Arc<Mutex<Losses>>);

#[derive(Default)]
struct Losses {
    tasks: Vec<TaskRef>,
    is_billing_unknown: bool,
}

impl Unrecorded {
    /// Keeps an accepted task that the ledger could not record.
    pub(super) fn accepted(&self, task: &TaskRef) {
        tracing::error!(
            task_id = task.id(),
            operation = task.operation(),
            "the ledger could not record an accepted task"
        );
        let mut losses = self.lock();
        if !losses.tasks.contains(task) {
            losses.tasks.push(task.clone());
        }
    }

    /// Notes that a submission may have been billed, and that the ledger could not record this.
    pub(super) fn unknown(&self) {
        self.lock().is_billing_unknown = true;
    }

    /// Waits until no submission is in flight. Keeps the accepted tasks whose callers were dropped,
    /// unless the ledger contains them.
    pub(super) async fn drain(&self, client: &Client) -> Result<(), imagekiln::Error> {
        let orphans = client.drain(LONGEST_SUBMISSION).await.inspect_err(|_| self.unknown())?;
        // The client has connected a task with its submission if the journal has recorded the task.
        for task in orphans.iter().filter(|task| task.submission().is_none()) {
            self.accepted(task);
        }
        Ok(())
    }

    /// Returns the outcome of a run, with everything that was not recorded in its error.
    pub(super) fn add_to<T>(&self, ended: Result<T, Error>) -> Result<T, Error> {
        let Losses { tasks, is_billing_unknown } = std::mem::take(&mut *self.lock());
        let error = match ended {
            Ok(done) if tasks.is_empty() && !is_billing_unknown => return Ok(done),
            Ok(_) => Error::new(ErrorKind::Ledger, "the ledger could not record every submission"),
            Err(error) => error,
        };
        Err(error.with_unrecorded(tasks, is_billing_unknown))
    }

    fn lock(&self) -> MutexGuard<'_, Losses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the first error. The second one is only logged.
pub(super) fn first<T>(one: Result<T, Error>, other: Result<(), Error>) -> Result<T, Error> {
    match (one, other) {
        (Ok(done), other) => other.map(|()| done),
        (Err(first), Ok(())) => Err(first),
        (Err(first), Err(second)) => {
            tracing::warn!(error = second.chain(), "another error of the same run");
            Err(first)
        }
    }
}
