//! Resumes and closes the records in the journal.

use std::time::SystemTime;

use super::{
    Task,
    poll::{PollError, poll},
};
use crate::{
    Client, Error, ErrorKind, Saved, TaskRef, TaskStatus, find_operation,
    journal::{self, JournalError, Record, Step},
};

/// A submission in the journal that is not finished.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unfinished {
    /// A task that was accepted, and whose picture was not saved, with its record.
    Task(Task, Record),
    /// A submission that the service may have accepted. The client does not send it again. Check
    /// the usage at the service, then [`adopt`](Client::adopt) its task or
    /// [`dismiss`](Client::dismiss) it.
    Unknown(Record),
}

impl Client {
    /// Returns the submissions in the [journal](crate::journal) that are not finished, oldest
    /// first.
    ///
    /// Call it when the program starts. The result excludes submissions that this client is
    /// currently sending, and those of other processes that have opened the same journal. It is
    /// empty if the client has no journal.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be read.
    pub async fn resume(&self) -> Result<Vec<Unfinished>, Error> {
        let Some(journal) = &self.tasks().settings.journal else { return Ok(Vec::new()) };
        let before = self.tasks().submissions.intents();
        let records = journal::call(|| journal.open_records()).await.map_err(unreadable)?;
        let after = self.tasks().submissions.intents();
        let is_in_flight = |record: &Record| {
            let id = record.intent().id();
            before.contains(id) || after.contains(id)
        };
        let unfinished = records.into_iter().filter_map(|record| match record.task() {
            Some(_) => self.task_of_record(&record).map(|task| Unfinished::Task(task, record)),
            None if is_in_flight(&record) => None,
            None => Some(Unfinished::Unknown(record)),
        });
        Ok(unfinished.collect())
    }

    /// Returns the task of a record; `None` if the service is not known to have accepted it.
    ///
    /// This sends nothing. [`resume`](Self::resume) returns the tasks of the open records.
    pub fn task_of_record(&self, record: &Record) -> Option<Task> {
        let task = record.task()?.clone().of_submission(record.intent().id());
        let task = self.task(task);
        Some(match record.ready_at() {
            Some(at) => task.ready_since(at),
            None => task,
        })
    }

    /// Continues a submission with unknown billing as the task that a person has found, for example
    /// in the usage that the service reports.
    ///
    /// The client polls the task first, and the journal records it only if the service knows it.
    ///
    /// # Errors
    ///
    /// - [`TaskNotFound`](ErrorKind::TaskNotFound): the service does not know the task. Nothing was
    ///   changed.
    /// - [`Settings`](ErrorKind::Settings): the operation is unknown, or the regional base URL is
    ///   missing.
    /// - [`Journal`](ErrorKind::Journal): the task belongs to another submission, or the journal
    ///   could not be read or written.
    /// - The errors of [`Task::poll`].
    pub async fn adopt(&self, record: &Record, task_id: impl Into<String>) -> Result<Task, Error> {
        let intent = record.intent();
        let operation = find_operation(intent.operation()).ok_or_else(|| {
            let message = format!("the contract has no operation `{}`", intent.operation());
            Error::new(ErrorKind::Settings, message)
        })?;
        let task = self.task_by_id(operation, task_id)?.reference().clone();
        if let Some(journal) = &self.tasks().settings.journal {
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
        let limit = self.tasks().settings.poll_deadline;
        let update = poll(self, &task, limit, 0).await.map_err(PollError::into_error)?;
        if *update.status() == TaskStatus::TaskNotFound {
            let message = "the service does not know the task";
            let error = Error::new(ErrorKind::TaskNotFound, message).with_task(&task);
            return Err(error.with_advice("nothing was changed; check the id"));
        }
        self.advance(intent.id(), &Step::Accepted(task.clone())).await?;
        Ok(self.task(task.of_submission(intent.id())))
    }

    /// Closes the record of a task in the journal.
    ///
    /// Call it when the program needs nothing more from the task: after fetching its picture with
    /// [`bytes`](crate::Picture::bytes), or to abandon the task. Saving a picture closes the record
    /// of its task, and so does a poll that returns a failure.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be written. The record is still
    /// open.
    pub async fn settle(&self, task: &TaskRef) -> Result<(), Error> {
        let Some(submission) = task.submission() else { return Ok(()) };
        self.advance(submission, &Step::Settled).await.map_err(|error| error.with_task(task))
    }

    /// Closes the record of a submission that needs nothing more, for example because a person
    /// found out that it was not billed.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be written. The record is still
    /// open.
    pub async fn dismiss(&self, record: &Record) -> Result<(), Error> {
        self.advance(record.intent().id(), &Step::Settled).await
    }

    /// Records that the delivery host refused a URL, which a poll at this time had returned.
    pub(crate) async fn note_refused(&self, task: &TaskRef, given_at: SystemTime) {
        self.note(task, &Step::Refused { given_at }).await;
    }

    /// Records that the picture of a task is durable.
    pub(crate) async fn note_saved(&self, task: &TaskRef, saved: &Saved) {
        let Saved { path, bytes, sha256, .. } = saved;
        // The next process may have another working directory.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.note(task, &Step::Saved { path, bytes: *bytes, sha256: Some(sha256.clone()) }).await;
    }

    /// Records what happened to a task. A failure of the journal is only logged: the record stays
    /// open, and whoever resumes it finds out the same again.
    pub(super) async fn note(&self, task: &TaskRef, step: &Step) {
        let Some(submission) = task.submission() else { return };
        if let Err(error) = self.advance(submission, step).await {
            tracing::warn!(task_id = task.id(), %error, "could not write to the journal");
        }
    }

    async fn advance(&self, submission: &str, step: &Step) -> Result<(), Error> {
        let Some(journal) = &self.tasks().settings.journal else { return Ok(()) };
        let written = journal::call(|| journal.advance(submission, step)).await;
        written.map_err(|error| error.into_error("could not write to the journal"))
    }
}

fn unreadable(error: JournalError) -> Error {
    error.into_error("could not read the journal")
}
