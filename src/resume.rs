//! Resuming, adopting and closing the submissions in the journal of a client.

use std::sync::Arc;

use url::Url;

use crate::{
    Client, Error, ErrorKind, Task, TaskRef, TaskStatus, find_operation,
    journal::{self, Record, Step, Unreadable},
};

/// A submission in the journal that is not finished. `T` is the type of the task: the blocking
/// client has a type of its own.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unfinished<T = Task> {
    /// A task that the service accepted, and whose picture was not saved, together with its record.
    Task(T, Record),
    /// A submission that the service may have accepted. The client does not send it again. Check
    /// the usage at the service, then [`adopt`](crate::Client::adopt) its task or
    /// [`dismiss`](crate::Client::dismiss) it.
    Unknown(Record),
    /// A submission to another service; see [`Intent::service`](crate::journal::Intent::service).
    /// Continue it with a client of that service. Another service does not know the task, and its
    /// `Task not found` does not prove that the task is gone.
    Elsewhere(Record),
    /// A record that the journal cannot read. It may name a paid task.
    Unreadable(Unreadable),
}

impl Client {
    /// Returns the submissions in the [journal](crate::journal) that are not finished, oldest
    /// first.
    ///
    /// Call this method when the program starts. The result excludes submissions that this client
    /// is currently sending, and submissions of other running processes that have opened the same
    /// journal. The result is empty if the client has no journal.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be read.
    pub async fn resume(&self) -> Result<Vec<Unfinished>, Error> {
        let submissions = &self.shared.submissions;
        let before = submissions.intents();
        let records = self.open_records().await?;
        let after = submissions.intents();
        let is_in_flight = |record: &Record| {
            let id = record.intent().id();
            before.contains(id) || after.contains(id)
        };
        let unfinished = |record: Record| match self.task_of_record(&record) {
            _ if !self.can_continue(&record) => Some(Unfinished::Elsewhere(record)),
            Some(task) => Some(Unfinished::Task(task, record)),
            None if is_in_flight(&record) => None,
            None => Some(Unfinished::Unknown(record)),
        };
        let unfinished = records.into_iter().filter_map(|record| match record {
            Ok(record) => unfinished(record),
            Err(unreadable) => Some(Unfinished::Unreadable(unreadable)),
        });
        Ok(unfinished.collect())
    }

    /// Returns `true` if a submission was sent to the service of this client: to one of the
    /// client's base URLs, or to a host that [may receive the client's
    /// key](crate::ClientBuilder::allow_polling_host). Also returns `true` if the record does not
    /// name the service.
    #[doc(hidden)]
    pub fn can_continue(&self, record: &Record) -> bool {
        record.intent().service().is_none_or(|service| self.may_use_key_at(service))
    }

    /// Returns whether the client may send its key to a URL: to one of the client's base URLs, or
    /// to a host that [may receive the client's key](crate::ClientBuilder::allow_polling_host).
    #[doc(hidden)]
    pub fn may_use_key_at(&self, service: &str) -> bool {
        let origins = &self.shared.service.key_origins;
        Url::parse(service).is_ok_and(|service| origins.may_receive_key(&service))
    }

    /// Returns the base URL.
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn base_url(&self) -> &str {
        self.shared.service.base_url.as_str()
    }

    /// Returns whether a submission was paid with the key of this client. `None` if the record does
    /// not name the key. Keys are replaced from time to time, so a different key often belongs to
    /// the same account.
    #[doc(hidden)]
    pub fn has_key_of(&self, record: &Record) -> Option<bool> {
        let account = record.intent().account()?;
        Some(account.has_key(self.shared.service.key.as_bytes()))
    }

    /// Returns the task of a record. `None` if it is not known that the service accepted the
    /// submission.
    ///
    /// This sends nothing. [`resume`](Self::resume) returns the tasks of the open records.
    #[doc(hidden)]
    pub fn task_of_record(&self, record: &Record) -> Option<Task> {
        let reference = record.task()?.clone().of_submission(record.intent().id());
        let mut task = self.task(reference);
        task.has_other_key = self.has_key_of(record) == Some(false);
        task.ready_since = record.first_ready();
        Some(task)
    }

    /// Assigns a task that a person has found, for example in the usage that the service reports,
    /// to a submission with unknown billing, and resumes the task.
    ///
    /// The client polls the task first. The journal records the task only if the service knows it,
    /// because a record with a wrong id would hide a submission that may be paid.
    ///
    /// ```
    /// use imagekiln::{Client, Error, Unfinished};
    ///
    /// /// `task` is what the usage shows for the submission with this id, if anything.
    /// async fn decide(client: &Client, id: &str, task: Option<&str>) -> Result<(), Error> {
    ///     for unfinished in client.resume().await? {
    ///         let Unfinished::Unknown(record) = unfinished else { continue };
    ///         if record.intent().id() != id {
    ///             continue;
    ///         }
    ///         match task {
    ///             Some(task) => {
    ///                 let task = client.adopt(&record, task).await?;
    ///                 task.wait().await?.save_in(".").await?;
    ///             }
    ///             None => client.dismiss(&record).await?,
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`TaskNotFound`](ErrorKind::TaskNotFound): the service does not know the task. Nothing was
    ///   changed.
    /// - [`Usage`](ErrorKind::Usage): the operation is unknown, or the submission was sent to
    ///   another service.
    /// - [`Settings`](ErrorKind::Settings): the regional base URL is not set.
    /// - [`Journal`](ErrorKind::Journal): the task belongs to another submission, or the journal
    ///   could not be read or written.
    /// - The errors of [`Task::poll`].
    pub async fn adopt(&self, record: &Record, task_id: impl Into<String>) -> Result<Task, Error> {
        let intent = record.intent();
        if let (false, Some(service)) = (self.can_continue(record), intent.service()) {
            let message = format!("the submission was sent to {service}");
            let advice = "nothing was changed; use a client of that service";
            return Err(Error::new(ErrorKind::Usage, message).with_advice(advice));
        }
        let operation = find_operation(intent.operation()).ok_or_else(|| {
            let message = format!("the contract has no operation `{}`", intent.operation());
            Error::new(ErrorKind::Usage, message)
        })?;
        let task = self.task_by_id(operation, task_id)?;
        let reference = task.reference();
        let unusable = |kind, message| {
            Error::new(kind, message)
                .with_task(reference)
                .with_advice("nothing was changed; check the id")
        };
        if *task.poll().await?.status() == TaskStatus::TaskNotFound {
            return Err(unusable(ErrorKind::TaskNotFound, "the service does not know the task"));
        }
        if let Some(journal) = &self.shared.settings.journal {
            let adopted = journal::call(|| journal.adopt(intent, reference)).await;
            if !adopted.map_err(|error| error.into_error("could not write to the journal"))? {
                return Err(unusable(ErrorKind::Journal, "the task belongs to another submission"));
            }
        }
        Ok(self.task(reference.clone().of_submission(intent.id())))
    }

    /// Closes the record of a task in the journal.
    ///
    /// Call this method when the program needs nothing more from the task: after it has fetched the
    /// picture with [`bytes`](crate::Picture::bytes), or to abandon the task. If the program saves
    /// the picture, or if a poll returns a failure, the client closes the record itself.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be read or written, or the
    /// reference does not name its [submission](TaskRef::submission), and the journal has no open
    /// record of the task. The record is still open.
    pub async fn settle(&self, task: &TaskRef) -> Result<(), Error> {
        let settled = async {
            match task.submission() {
                Some(submission) => self.advance(submission, &Step::Settled).await,
                None if self.shared.settings.journal.is_none() => Ok(()),
                None => {
                    let records = self.open_records().await?;
                    let is_its =
                        |record: &&Record| record.task().is_some_and(|it| it.is_same(task));
                    let record = records.iter().flatten().find(is_its).ok_or_else(|| {
                        Error::new(ErrorKind::Journal, "the journal has no open record of the task")
                            .with_advice("pass the reference of the task that the client returned")
                    })?;
                    self.dismiss(record).await
                }
            }
        };
        settled.await.map_err(|error| error.with_task(task))
    }

    /// Closes the record of a submission from which nothing more is needed, for example because a
    /// person has checked that the submission was not billed.
    ///
    /// # Errors
    ///
    /// Kind [`Journal`](ErrorKind::Journal): the journal could not be written. The record is still
    /// open.
    pub async fn dismiss(&self, record: &Record) -> Result<(), Error> {
        self.advance(record.intent().id(), &Step::Settled).await
    }

    async fn open_records(&self) -> Result<Vec<Result<Record, Unreadable>>, Error> {
        let Some(journal) = &self.shared.settings.journal else { return Ok(Vec::new()) };
        let client = self.clone();
        let continues = Arc::new(move |record: &Record| client.can_continue(record));
        let records = journal::call(|| journal.open_records_for(continues)).await;
        records.map_err(|error| error.into_error("could not read the journal"))
    }

    /// Applies a step to the record of a submission. Does nothing if the client has no journal.
    async fn advance(&self, submission: &str, step: &Step) -> Result<(), Error> {
        let Some(journal) = &self.shared.settings.journal else { return Ok(()) };
        let written = journal::call(|| journal.advance(submission, step)).await;
        written.map_err(|error| error.into_error("could not write to the journal"))
    }
}
