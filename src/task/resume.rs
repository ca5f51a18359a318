//! Resumes and closes the records in the journal.

use std::sync::{Arc, OnceLock};

use super::{
    Shared, Task,
    poll::{PollError, poll},
};
use crate::{
    Error, ErrorKind, TaskRef, TaskStatus,
    journal::{self, JournalError, Record, Step},
};

/// A submission in the journal that is not finished.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unfinished {
    /// A task that was accepted, and whose picture was not saved, with its record.
    Task(Task, Record),
    /// A submission that the service may have accepted. The client does not send it again. Check
    /// the usage at the service, then [`adopt`](crate::Client::adopt) its task or
    /// [`dismiss`](crate::Client::dismiss) it.
    Unknown(Record),
}

impl Shared {
    /// Returns the submissions in the journal that are not finished, oldest first.
    pub(crate) async fn resume(self: &Arc<Self>) -> Result<Vec<Unfinished>, Error> {
        let Some(journal) = &self.settings.journal else { return Ok(Vec::new()) };
        let before = self.submissions.intents();
        let records = journal::call(|| journal.open_records()).await.map_err(unreadable)?;
        let after = self.submissions.intents();
        let is_in_flight = |record: &Record| {
            let id = record.intent().id();
            before.contains(id) || after.contains(id)
        };
        let unfinished = records.into_iter().filter_map(|record| match self.task_of(&record) {
            Some(task) => Some(Unfinished::Task(task, record)),
            None if is_in_flight(&record) => None,
            None => Some(Unfinished::Unknown(record)),
        });
        Ok(unfinished.collect())
    }

    /// Returns the task of a record; `None` if the service is not known to have accepted it.
    pub(crate) fn task_of(self: &Arc<Self>, record: &Record) -> Option<Task> {
        let reference = record.task()?.clone().of_submission(record.intent().id());
        let task = Task::resumed(Arc::clone(self), reference);
        Some(match record.ready_at() {
            Some(at) => task.ready_since(at),
            None => task,
        })
    }

    /// Continues a submission with unknown billing as `task`, if the service knows it and no other
    /// submission has it.
    pub(crate) async fn adopt(
        self: &Arc<Self>,
        record: &Record,
        task: TaskRef,
    ) -> Result<Task, Error> {
        let intent = record.intent();
        if let Some(journal) = &self.settings.journal {
            let records = journal::call(|| journal.open_records()).await.map_err(unreadable)?;
            let is_taken = |other: &Record| {
                // The polling URL of the response may be another one.
                let same =
                    |other: &TaskRef| (other.region(), other.id()) == (task.region(), task.id());
                other.task().is_some_and(same) && other.intent().id() != intent.id()
            };
            if records.iter().any(is_taken) {
                let message = "the task belongs to another submission";
                let error = Error::new(ErrorKind::Journal, message).with_task(&task);
                return Err(error.with_advice("nothing was changed; check the id"));
            }
        }
        let limit = self.settings.poll_deadline;
        let update =
            poll(self, &task, &OnceLock::new(), limit, 0).await.map_err(PollError::into_error)?;
        if *update.status() == TaskStatus::TaskNotFound {
            let message = "the service does not know the task";
            let error = Error::new(ErrorKind::TaskNotFound, message).with_task(&task);
            return Err(error.with_advice("nothing was changed; check the id"));
        }
        self.advance(intent.id(), &Step::Accepted(task.clone())).await?;
        Ok(Task::resumed(Arc::clone(self), task.of_submission(intent.id())))
    }

    /// Records what happened to a submission.
    pub(crate) async fn advance(&self, submission: &str, step: &Step) -> Result<(), Error> {
        let Some(journal) = &self.settings.journal else { return Ok(()) };
        let written = journal::call(|| journal.advance(submission, step)).await;
        written.map_err(|error| error.into_error("could not write to the journal"))
    }
}

fn unreadable(error: JournalError) -> Error {
    error.into_error("could not read the journal")
}
