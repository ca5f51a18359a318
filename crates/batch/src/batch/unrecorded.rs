//! What a run could not record: the end of its workers, accepted tasks, and submissions with
//! unknown billing.

use std::{
    mem,
    sync::{Arc, Mutex},
};

use imagekiln::{Client, TaskRef};

use super::LONGEST_SUBMISSION;
use crate::{Error, ErrorKind, Ledger, lock};

/// What the workers of a batch could not record. It outlives a run that is dropped, so that the
/// next run still retires its workers and returns the billed tasks.
#[derive(Clone, Default)]
pub(super) struct Unrecorded(Arc<Mutex<Losses>>);

#[derive(Default)]
struct Losses {
    /// The workers that were registered and not retired.
    workers: Vec<i64>,
    tasks: Vec<TaskRef>,
    is_billing_unknown: bool,
}

impl Unrecorded {
    /// Keeps the number of a registered worker, to retire it later.
    pub(super) fn registered(&self, worker: i64) {
        lock(&self.0).workers.push(worker);
    }

    /// Retires all workers. First waits for their submissions in flight, so that the ledger knows
    /// the outcome of each.
    pub(super) async fn retire(&self, client: &Client, ledger: &Ledger) -> Result<(), Error> {
        let workers = lock(&self.0).workers.clone();
        if workers.is_empty() {
            return Ok(());
        }
        self.drain(client).await.map_err(Error::because(
            ErrorKind::Client,
            "submissions of an earlier run are still in flight",
        ))?;
        let mut result = Ok(());
        for worker in workers {
            let retired = ledger.retire(worker).await;
            if retired.is_ok() {
                lock(&self.0).workers.retain(|id| *id != worker);
            }
            result = first(result, retired);
        }
        result
    }

    /// Keeps an accepted task that the ledger could not record.
    pub(super) fn accepted(&self, task: &TaskRef) {
        tracing::error!(
            task_id = task.id(),
            operation = task.operation(),
            "the ledger could not record an accepted task"
        );
        let mut losses = lock(&self.0);
        if !losses.tasks.contains(task) {
            losses.tasks.push(task.clone());
        }
    }

    /// Notes that a submission may have been billed, and that the ledger could not record this.
    pub(super) fn unknown(&self) {
        lock(&self.0).is_billing_unknown = true;
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
        let mut losses = lock(&self.0);
        let tasks = mem::take(&mut losses.tasks);
        let is_billing_unknown = mem::take(&mut losses.is_billing_unknown);
        let error = match ended {
            Ok(done) if tasks.is_empty() && !is_billing_unknown => return Ok(done),
            Ok(_) => Error::new(ErrorKind::Ledger, "the ledger could not record every submission"),
            Err(error) => error,
        };
        Err(error.with_unrecorded(tasks, is_billing_unknown))
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
