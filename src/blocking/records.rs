//! The methods of the blocking client that use its journal.

use super::{Client, Once, Task, Unfinished};
use crate::{
    Error, Submit, SubmitOptions, TaskRef,
    journal::{Key, Record},
};

impl Client {
    /// Submits a request, unless an earlier call has submitted it with the same idempotency key, as
    /// [`crate::Client::submit_once`]. In that case, returns the result of the earlier submission.
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::submit_once`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn submit_once(&self, key: impl Into<Key>, request: impl Submit) -> Result<Once, Error> {
        self.submit_once_with(key, request, SubmitOptions::default())
    }

    /// Submits a request at most once, like `submit_once`, with options, as
    /// [`crate::Client::submit_once_with`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::submit_once_with`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn submit_once_with(
        &self,
        key: impl Into<Key>,
        request: impl Submit,
        options: SubmitOptions,
    ) -> Result<Once, Error> {
        let (key, request) = (key.into(), request.into_request());
        let once = self
            .call(|client| async move { client.submit_once_with(key, request, options).await })?;
        Ok(match once {
            crate::Once::Task(task) => Once::Task(self.with(task)),
            crate::Once::Saved { path, task } => Once::Saved { path, task: self.with(task) },
        })
    }

    /// Returns the records of all attempts of a key, starting with the first attempt, as
    /// [`crate::Client::attempts`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::attempts`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn attempts(&self, name: impl Into<String>) -> Result<Vec<Record>, Error> {
        let name = name.into();
        self.call(|client| async move { client.attempts(name).await })
    }

    /// Returns the submissions in the journal that are not finished, oldest first, as
    /// [`crate::Client::resume`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::resume`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn resume(&self) -> Result<Vec<Unfinished>, Error> {
        let unfinished = self.call(|client| async move { client.resume().await })?;
        let unfinished = unfinished.into_iter().map(|entry| match entry {
            crate::Unfinished::Task(task, record) => Unfinished::Task(self.with(task), record),
            crate::Unfinished::Unknown(record) => Unfinished::Unknown(record),
            crate::Unfinished::Elsewhere(record) => Unfinished::Elsewhere(record),
            crate::Unfinished::Unreadable(file) => Unfinished::Unreadable(file),
        });
        Ok(unfinished.collect())
    }

    /// Assigns a task that a person has found to a submission with unknown billing, and resumes the
    /// task, as [`crate::Client::adopt`]. Polls the task first.
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::adopt`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn adopt(&self, record: &Record, task_id: impl Into<String>) -> Result<Task, Error> {
        let (record, id) = (record.clone(), task_id.into());
        self.get(|client| async move { client.adopt(&record, id).await })
    }

    /// Closes the record of a task in the journal, as [`crate::Client::settle`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::settle`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn settle(&self, task: &TaskRef) -> Result<(), Error> {
        let task = task.clone();
        self.call(|client| async move { client.settle(&task).await })
    }

    /// Closes the record of a submission from which nothing more is needed, as
    /// [`crate::Client::dismiss`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::dismiss`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn dismiss(&self, record: &Record) -> Result<(), Error> {
        let record = record.clone();
        self.call(|client| async move { client.dismiss(&record).await })
    }
}
