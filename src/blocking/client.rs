//! The blocking client.

use std::time::Duration;

#[cfg(feature = "webhook")]
use super::Update;
use super::{
    Blocking, Task,
    background::{Background, refuse_in_async_code},
};
#[cfg(feature = "webhook")]
use crate::webhook::Event;
use crate::{
    ClientBuilder, Error, Operation, Region, Submit, TaskRef,
    journal::{Origin, Record},
};

/// A blocking client of the service; see [`blocking`](crate::blocking).
///
/// `Client` is cheap to clone. Clones share a thread, connections, limits and retry budgets, and
/// may be used from several threads at once.
pub type Client = Blocking<crate::Client>;

/// A submission in the journal that is not finished, as [`crate::Unfinished`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Unfinished {
    /// A task that was accepted, and whose picture was not saved, with its record.
    Task(Task, Record),
    /// A submission that the service may have accepted; see [`crate::Unfinished::Unknown`].
    Unknown(Record),
}

impl ClientBuilder {
    /// Builds a blocking client, and starts its thread.
    ///
    /// ```
    /// # fn main() -> Result<(), imagekiln::Error> {
    /// let client = imagekiln::Client::builder()
    ///     .api_key("my key")
    ///     .base_url("https://api.example.com")
    ///     .build_blocking()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The same errors as [`build`](Self::build). Kind [`Settings`](crate::ErrorKind::Settings) if
    /// the thread could not be started, and [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn build_blocking(self) -> Result<Client, Error> {
        refuse_in_async_code()?;
        let inner = self.build()?;
        let background = Background::start(&inner)?;
        Ok(Blocking { inner, background })
    }
}

impl Client {
    /// Returns the builder of both clients. [`build_blocking`](ClientBuilder::build_blocking)
    /// builds a blocking one.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Builds a client from the environment, as [`crate::Client::from_env`].
    ///
    /// # Errors
    ///
    /// The same errors as [`ClientBuilder::build_blocking`].
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env()?.build_blocking()
    }

    /// Submits a request and returns its task once the service has accepted it, as
    /// [`crate::Client::submit`].
    ///
    /// After [`ClientBuilder::submit_deadline`], the submission continues on the thread of the
    /// client, and [`drain`](Self::drain) returns its task.
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::submit`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn submit(&self, request: impl Submit) -> Result<Task, Error> {
        let (client, request) = (self.inner.clone(), request.into_request());
        self.accepted(async move { client.submit(request).await })
    }

    /// Submits a request like [`submit`](Self::submit), but fails instead of waiting for a slot, as
    /// [`crate::Client::try_submit`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::try_submit`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn try_submit(&self, request: impl Submit) -> Result<Task, Error> {
        let (client, request) = (self.inner.clone(), request.into_request());
        self.accepted(async move { client.try_submit(request).await })
    }

    /// Submits a request like [`submit`](Self::submit), and says what for, as
    /// [`crate::Client::submit_for`].
    ///
    /// # Errors
    ///
    /// The same errors as [`submit`](Self::submit).
    pub fn submit_for(
        &self,
        request: impl Submit,
        origin: impl Into<Origin>,
    ) -> Result<Task, Error> {
        let (client, request) = (self.inner.clone(), request.into_request());
        let origin = origin.into();
        self.accepted(async move { client.submit_for(request, origin).await })
    }

    fn accepted(
        &self,
        submission: impl Future<Output = Result<crate::Task, Error>> + Send + 'static,
    ) -> Result<Task, Error> {
        Ok(self.with(self.background.run(submission)?))
    }

    /// Resumes a task, as [`crate::Client::task`]. Sends nothing.
    pub fn task(&self, reference: TaskRef) -> Task {
        self.with(self.inner.task(reference))
    }

    /// Resumes a task from its operation and its id, as [`crate::Client::task_by_id`]. Sends
    /// nothing.
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::task_by_id`].
    pub fn task_by_id(
        &self,
        operation: &'static Operation,
        id: impl Into<String>,
    ) -> Result<Task, Error> {
        Ok(self.with(self.inner.task_by_id(operation, id)?))
    }

    /// Resumes a task from the region that accepted it and its id, as [`crate::Client::task_in`].
    /// Sends nothing.
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::task_in`].
    pub fn task_in(&self, region: Region, id: impl Into<String>) -> Result<Task, Error> {
        Ok(self.with(self.inner.task_in(region, id)?))
    }

    /// Returns the submissions in the journal that are not finished, oldest first, as
    /// [`crate::Client::resume`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::resume`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn resume(&self) -> Result<Vec<Unfinished>, Error> {
        let client = self.inner.clone();
        let unfinished = self.background.run(async move { client.resume().await })?;
        let unfinished = unfinished.into_iter().map(|entry| match entry {
            crate::Unfinished::Task(task, record) => Unfinished::Task(self.with(task), record),
            crate::Unfinished::Unknown(record) => Unfinished::Unknown(record),
        });
        Ok(unfinished.collect())
    }

    /// Returns the task of a record, as [`crate::Client::task_of_record`]. Sends nothing.
    pub fn task_of_record(&self, record: &Record) -> Option<Task> {
        Some(self.with(self.inner.task_of_record(record)?))
    }

    /// Continues a submission with unknown billing as the task that a person has found, as
    /// [`crate::Client::adopt`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::adopt`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn adopt(&self, record: &Record, task_id: impl Into<String>) -> Result<Task, Error> {
        let (client, record, id) = (self.inner.clone(), record.clone(), task_id.into());
        self.accepted(async move { client.adopt(&record, id).await })
    }

    /// Closes the record of a task in the journal, as [`crate::Client::settle`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::settle`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn settle(&self, task: &TaskRef) -> Result<(), Error> {
        let (client, task) = (self.inner.clone(), task.clone());
        self.background.run(async move { client.settle(&task).await })
    }

    /// Closes the record of an unknown submission, as [`crate::Client::dismiss`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::dismiss`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn dismiss(&self, record: &Record) -> Result<(), Error> {
        let (client, record) = (self.inner.clone(), record.clone());
        self.background.run(async move { client.dismiss(&record).await })
    }

    /// Waits until no submission is in flight, and returns the tasks that were accepted after their
    /// call had ended, as [`crate::Client::drain`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::drain`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn drain(&self, deadline: Duration) -> Result<Vec<TaskRef>, Error> {
        let client = self.inner.clone();
        self.background.run(async move { client.drain(deadline).await })
    }
}

#[cfg(feature = "webhook")]
impl Client {
    /// Confirms an event by polling its task once, as [`crate::Client::confirm`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::confirm`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn confirm(&self, event: &Event, task: &TaskRef) -> Result<Update, Error> {
        let (client, event, task) = (self.inner.clone(), event.clone(), task.clone());
        let update = self.background.run(async move { client.confirm(&event, &task).await })?;
        Ok(self.with(update))
    }

    /// Returns the reference of the task that an event is about, if this client submitted it, as
    /// [`crate::Client::task_of`].
    ///
    /// # Errors
    ///
    /// Kind [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn task_of(&self, event: &Event) -> Result<Option<TaskRef>, Error> {
        let (client, event) = (self.inner.clone(), event.clone());
        self.background.run(async move { Ok(client.task_of(&event).await) })
    }

    /// Confirms an event for a task without a known reference, as [`crate::Client::confirm_in`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::confirm_in`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn confirm_in(&self, event: &Event, region: Region) -> Result<Update, Error> {
        let (client, event) = (self.inner.clone(), event.clone());
        let update = self.background.run(async move { client.confirm_in(&event, region).await })?;
        Ok(self.with(update))
    }
}
