//! Connects a task that a person found with the job whose response was lost.

use imagekiln::{TaskStatus, journal::Step};

use super::Batch;
use crate::{Error, ErrorKind, JobStatus, ledger::task_of};

impl Batch {
    /// Records the task of a job whose response was lost, and returns the new status of the job.
    /// The next run waits for the picture, so that the job is not paid for twice. A person may have
    /// found the id of the task in the usage that the service reports, or in [`Error::tasks`].
    ///
    /// The job must be [`Unknown`](crate::JobState::Unknown), or a person has
    /// [resolved](crate::Jobs::resolve) it in the meantime and it was not submitted again. This
    /// method first polls the task, at the base URL of the operation, to make sure that it exists.
    ///
    /// # Errors
    ///
    /// Nothing was changed:
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name, it is in another state, or
    ///   the task belongs to another submission.
    /// - [`Client`](ErrorKind::Client): the poll failed, or the service does not know the task.
    /// - [`Elsewhere`](ErrorKind::Elsewhere): the ledger belongs to another service.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn resolve_with_task(&self, name: &str, task_id: &str) -> Result<JobStatus, Error> {
        self.check_service().await?;
        let lost = self.ledger.lost(name).await?;
        let task = task_of(&self.client, &lost, task_id)?;
        let update = task.poll().await.map_err(Error::because(
            ErrorKind::Client,
            "could not poll the task; nothing was changed",
        ))?;
        if *update.status() == TaskStatus::TaskNotFound {
            let message = format!("the service does not know the task {task_id}; check its id");
            return Err(Error::new(ErrorKind::Client, message));
        }
        self.ledger.decide(&lost, Step::Accepted(task.reference().clone())).await?;
        self.ledger.jobs().existing(name).await
    }
}
