//! What the journal keeps: resumed after a crash, and settled when nothing more is to be done.

use std::error;

use super::Task;
use crate::{
    Client, Error, ErrorKind, TaskRef, TaskStatus,
    journal::{Entry, Intent},
};

/// What a journal kept of an earlier run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unfinished {
    /// A task that was accepted, and whose picture was not saved.
    Task(Task),
    /// A submission of which it is unknown whether the service accepted it. It is not sent again.
    /// Check the service's usage, then [`dismiss`](Client::dismiss) it.
    Unknown(Intent),
}

impl Client {
    /// What the [journal](crate::journal) kept and was not settled, the oldest first; nothing if
    /// the client has no journal. Submissions that are under way in this client are left out. Call
    /// it when the program starts.
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
        let is_under_way =
            |intent: &Intent| before.contains(intent.id()) || after.contains(intent.id());
        let unfinished = entries.into_iter().filter_map(|entry| match entry {
            Entry::Accepted(_, task) => Some(Unfinished::Task(self.task(task))),
            Entry::Unknown(intent) if is_under_way(&intent) => None,
            Entry::Unknown(intent) => Some(Unfinished::Unknown(intent)),
        });
        Ok(unfinished.collect())
    }

    /// Removes a task from the journal, because the program has what it wants of it: for a picture
    /// that it fetched with [`bytes`](crate::Picture::bytes), or a task that it gives up. Saving a
    /// picture settles its task, and so does a poll that sees `Error` or a moderated status.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be written. The task is still in
    /// it.
    pub async fn settle(&self, task: &TaskRef) -> Result<(), Error> {
        let Some(journal) = &self.tasks().settings.journal else { return Ok(()) };
        let settled = journal.settle(task).await;
        settled.map_err(|error| failed("could not write the journal", error).with_task(task))
    }

    /// Settles a task after something that succeeded, and must not fail because of the journal.
    pub(crate) async fn settle_quietly(&self, task: &TaskRef) {
        if let Err(error) = self.settle(task).await {
            tracing::warn!(task_id = task.id(), %error, "the journal keeps a task that is finished");
        }
    }

    /// Removes a submission from the journal of which it was unknown whether the service accepted
    /// it.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be written. The submission is
    /// still in it.
    pub async fn dismiss(&self, intent: &Intent) -> Result<(), Error> {
        let Some(journal) = &self.tasks().settings.journal else { return Ok(()) };
        journal.withdraw(intent).await.map_err(|error| failed("could not write the journal", error))
    }
}

/// Whether there will be no picture. `Task not found` does not settle a task: it may be polled at
/// the wrong place.
pub(super) fn has_failed(status: &TaskStatus) -> bool {
    matches!(
        status,
        TaskStatus::Error | TaskStatus::RequestModerated | TaskStatus::ContentModerated
    )
}

fn failed(message: &str, error: Box<dyn error::Error + Send + Sync>) -> Error {
    Error::new(ErrorKind::Journal, message).with_source(error)
}
