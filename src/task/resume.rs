//! Resumes and settles the tasks in the journal.

use std::error;

use super::Task;
use crate::{
    Client, Error, ErrorKind, TaskRef, TaskStatus,
    journal::{Entry, Intent},
};

/// An unfinished entry of the journal.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unfinished {
    /// A task that was accepted, and whose picture was not saved.
    Task(Task),
    /// A submission that the service may have accepted. The client does not send it again. Check
    /// the usage at the service, then [`dismiss`](Client::dismiss) it.
    Unknown(Intent),
}

impl Client {
    /// Returns the unsettled entries of the [journal](crate::journal), oldest first.
    ///
    /// Call it when the program starts. The result excludes submissions that this client is
    /// currently sending. It is empty if the client has no journal.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be read.
    pub async fn resume(&self) -> Result<Vec<Unfinished>, Error> {
        let Some(journal) = &self.tasks().settings.journal else { return Ok(Vec::new()) };
        let before = self.tasks().submissions.intents();
        let entries =
            journal.entries().await.map_err(|error| failed("could not read the journal", error))?;
        let after = self.tasks().submissions.intents();
        let is_in_flight =
            |intent: &Intent| before.contains(intent.id()) || after.contains(intent.id());
        let unfinished = entries.into_iter().filter_map(|entry| match entry {
            Entry::Accepted(_, task) => Some(Unfinished::Task(self.task(task))),
            Entry::Unknown(intent) if is_in_flight(&intent) => None,
            Entry::Unknown(intent) => Some(Unfinished::Unknown(intent)),
        });
        Ok(unfinished.collect())
    }

    /// Removes a task from the journal.
    ///
    /// Call it when the program needs nothing more from the task: after fetching its picture with
    /// [`bytes`](crate::Picture::bytes), or to abandon the task. Saving a picture settles its task,
    /// and so does a poll that returns `Error` or a moderated status.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be written. It still contains
    /// the task.
    pub async fn settle(&self, task: &TaskRef) -> Result<(), Error> {
        let Some(journal) = &self.tasks().settings.journal else { return Ok(()) };
        let settled = journal.settle(task).await;
        settled.map_err(|error| failed("could not write the journal", error).with_task(task))
    }

    /// Settles a task after an operation that succeeded. A journal failure is only logged.
    pub(crate) async fn settle_quietly(&self, task: &TaskRef) {
        if let Err(error) = self.settle(task).await {
            tracing::warn!(task_id = task.id(), %error, "could not settle the task in the journal");
        }
    }

    /// Removes a submission with unknown billing from the journal.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be written. It still contains
    /// the submission.
    pub async fn dismiss(&self, intent: &Intent) -> Result<(), Error> {
        let Some(journal) = &self.tasks().settings.journal else { return Ok(()) };
        journal.withdraw(intent).await.map_err(|error| failed("could not write the journal", error))
    }
}

/// Whether the task will never have a picture. `Task not found` is not included, because the poll
/// may have gone to the wrong URL.
pub(super) fn has_failed(status: &TaskStatus) -> bool {
    matches!(
        status,
        TaskStatus::Error | TaskStatus::RequestModerated | TaskStatus::ContentModerated
    )
}

fn failed(message: &str, error: Box<dyn error::Error + Send + Sync>) -> Error {
    Error::new(ErrorKind::Journal, message).with_source(error)
}
