//! The client: everything that a program asks of the service begins here.

use std::{fmt, sync::Arc, time::Duration};

use url::Url;

use crate::{
    ClientBuilder, Durations, Error, ErrorKind, Operation, Region, Slot, Submit, SubmitOptions,
    Task, TaskRef, TaskStatus, find_operation,
    journal::{self, Origin, Record, Step},
    task::Shared,
    transport::service::result_url,
};

/// A client of the service.
///
/// `Client` is cheap to clone. Clones share connections, limits and retry budgets.
///
/// ```
/// use imagekiln::Client;
/// # fn main() -> Result<(), imagekiln::Error> {
/// let client = Client::builder()
///     .api_key("my key")
///     .base_url("https://api.example.com")
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

/// A submission in the journal that is not finished. `T` is the type of its task, which is another
/// one for the blocking client.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unfinished<T = Task> {
    /// A task that was accepted, and whose picture was not saved, with its record.
    Task(T, Record),
    /// A submission that the service may have accepted. The client does not send it again. Check
    /// the usage at the service, then [`adopt`](crate::Client::adopt) its task or
    /// [`dismiss`](crate::Client::dismiss) it.
    Unknown(Record),
}

impl ClientBuilder {
    /// Builds a client with these settings.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): a setting is missing or invalid. The error
    /// names it.
    pub fn build(self) -> Result<Client, Error> {
        #[cfg(feature = "metrics")]
        crate::telemetry::describe_metrics();
        Ok(Client { shared: Arc::new(self.shared()?) })
    }
}

impl Client {
    /// Returns a builder with the default settings. Does not read the environment.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Creates a client with the settings from the environment; see [`ClientBuilder::from_env`].
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](ErrorKind::Settings): a variable is missing or invalid. The error names
    /// it.
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env()?.build()
    }

    /// Submits a request and returns its task once the service has accepted it.
    ///
    /// This is the only method that sends the POST, apart from [`try_submit`](Self::try_submit),
    /// [`submit_for`](Self::submit_for) and [`submit_with`](Self::submit_with).
    ///
    /// Dropping the future does not cancel the submission, which may already be billed. The
    /// submission completes in its own task, and [`drain`](Self::drain) returns the accepted task.
    /// If the service did not process the submission, the client does not retry it for a dropped
    /// future. [`SubmitOptions::deadline`] cancels a submission that was not sent completely.
    ///
    /// # Errors
    ///
    /// [`Error::billing`] returns whether the submission was billed.
    ///
    /// - [`Validation`](ErrorKind::Validation), [`Auth`](ErrorKind::Auth),
    ///   [`Payment`](ErrorKind::Payment), [`RateLimited`](ErrorKind::RateLimited),
    ///   [`File`](ErrorKind::File), [`Settings`](ErrorKind::Settings): usually nothing was billed.
    /// - [`Network`](ErrorKind::Network), [`Service`](ErrorKind::Service),
    ///   [`Response`](ErrorKind::Response): depends on when and how the submission failed.
    pub async fn submit(&self, request: impl Submit) -> Result<Task, Error> {
        self.submit_with(request, SubmitOptions::default()).await
    }

    /// Submits a request like [`submit`](Self::submit), but fails instead of waiting for a slot if
    /// [`max_active`](crate::ClientBuilder::max_active) tasks are active. Without this setting, the
    /// client always sends the request, and retries it after a delay if the service refuses it.
    ///
    /// # Errors
    ///
    /// Kind [`RateLimited`](ErrorKind::RateLimited) without a status code: no slot is free, and
    /// nothing was sent. Otherwise the same errors as [`submit`](Self::submit).
    pub async fn try_submit(&self, request: impl Submit) -> Result<Task, Error> {
        let mut options = SubmitOptions::default();
        options.waits_for_slot = false;
        self.submit_with(request, options).await
    }

    /// Submits a request like [`submit`](Self::submit), and says what for: a text, which becomes
    /// the label, or an [`Origin`].
    ///
    /// The origin is written to the [journal](crate::journal) and never sent. After a crash,
    /// [`resume`](Self::resume) returns it. Without a journal it has no effect.
    ///
    /// ```
    /// # use imagekiln::{Client, Error, journal::Origin, types::Gen2Pro};
    /// # async fn submit(client: Client) -> Result<(), Error> {
    /// let request = Gen2Pro::new("a red fox in the snow").seed(7);
    /// let task = client.submit_for(request, Origin::new("fox-7").target("fox-7.png")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The same errors as [`submit`](Self::submit).
    pub async fn submit_for(
        &self,
        request: impl Submit,
        origin: impl Into<Origin>,
    ) -> Result<Task, Error> {
        self.submit_with(request, SubmitOptions::default().origin(origin)).await
    }

    /// Submits a request like [`submit`](Self::submit), with a deadline of its own, for example.
    ///
    /// # Errors
    ///
    /// Kind [`Deadline`](ErrorKind::Deadline): the deadline passed. Otherwise the same errors as
    /// [`submit`](Self::submit).
    pub async fn submit_with(
        &self,
        request: impl Submit,
        options: SubmitOptions,
    ) -> Result<Task, Error> {
        self.shared.submit(request.into_request(), options, None).await
    }

    /// Waits until a submission would not have to wait for a slot, and returns the slot. For
    /// programs of this project that decide late what to submit next.
    #[doc(hidden)]
    pub async fn slot(&self) -> Result<Slot, Error> {
        self.shared.slot(false).await
    }

    /// Submits a request like [`submit_with`](Self::submit_with), with this slot if there is one.
    #[doc(hidden)]
    pub async fn submit_in(
        &self,
        slot: Option<Slot>,
        request: impl Submit,
        options: SubmitOptions,
    ) -> Result<Task, Error> {
        self.shared.submit(request.into_request(), options, slot).await
    }

    /// Resumes a task, for example one that another process submitted.
    ///
    /// This sends nothing; the first request is the first poll.
    pub fn task(&self, reference: TaskRef) -> Task {
        Task::resumed(Arc::clone(&self.shared), reference)
    }

    /// Resumes a task from its operation and its id.
    ///
    /// The client polls `/v1/get_result` at the base URL that serves the operation. If the
    /// operation is unknown, use [`task_in`](Self::task_in).
    ///
    /// ```
    /// # fn resume(client: &imagekiln::Client) -> Result<(), imagekiln::Error> {
    /// let operation = imagekiln::find_operation("gen-2-pro").unwrap();
    /// let task = client.task_by_id(operation, "f7a1c9")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): the operation needs the regional base URL,
    /// and none is set.
    pub fn task_by_id(
        &self,
        operation: &'static Operation,
        id: impl Into<String>,
    ) -> Result<Task, Error> {
        let base = self.shared.service.base_of(operation)?;
        let operation_name = Some(operation.name.to_owned());
        Ok(self.task_at(base, operation.region(), id.into(), operation_name))
    }

    /// Resumes a task from the region that accepted it and its id.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): the regional base URL is not set.
    pub fn task_in(&self, region: Region, id: impl Into<String>) -> Result<Task, Error> {
        Ok(self.task_at(self.shared.service.base(region)?, region, id.into(), None))
    }

    fn task_at(&self, base: &Url, region: Region, id: String, operation: Option<String>) -> Task {
        let polling_url = result_url(base, &id);
        self.task(TaskRef::new(id, polling_url, operation).in_region(region))
    }

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
        let submissions = &self.shared.submissions;
        let before = submissions.intents();
        let records = self.open_records().await?;
        let after = submissions.intents();
        let is_in_flight = |record: &Record| {
            let id = record.intent().id();
            before.contains(id) || after.contains(id)
        };
        let unfinished =
            records.into_iter().filter_map(|record| match self.task_of_record(&record) {
                Some(task) => Some(Unfinished::Task(task, record)),
                None if is_in_flight(&record) => None,
                None => Some(Unfinished::Unknown(record)),
            });
        Ok(unfinished.collect())
    }

    /// Returns the task of a record; `None` if the service is not known to have accepted it.
    ///
    /// This sends nothing. [`resume`](Self::resume) returns the tasks of the open records.
    pub fn task_of_record(&self, record: &Record) -> Option<Task> {
        let reference = record.task()?.clone().of_submission(record.intent().id());
        let task = self.task(reference);
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
    /// - [`Usage`](ErrorKind::Usage): the operation is unknown.
    /// - [`Settings`](ErrorKind::Settings): the regional base URL is not set.
    /// - [`Journal`](ErrorKind::Journal): the task belongs to another submission, or the journal
    ///   could not be read or written.
    /// - The errors of [`Task::poll`].
    pub async fn adopt(&self, record: &Record, task_id: impl Into<String>) -> Result<Task, Error> {
        let intent = record.intent();
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
        // The polling URL of the response may be another one.
        let is_same =
            |other: &TaskRef| (other.region(), other.id()) == (reference.region(), reference.id());
        let is_taken = |other: &Record| {
            other.task().is_some_and(is_same) && other.intent().id() != intent.id()
        };
        if self.open_records().await?.iter().any(is_taken) {
            return Err(unusable(ErrorKind::Journal, "the task belongs to another submission"));
        }
        if *task.poll().await?.status() == TaskStatus::TaskNotFound {
            return Err(unusable(ErrorKind::TaskNotFound, "the service does not know the task"));
        }
        self.advance(intent.id(), &Step::Accepted(reference.clone())).await?;
        Ok(self.task(reference.clone().of_submission(intent.id())))
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

    /// Returns how long the last tasks of this client took, for the next one:
    /// [`ClientBuilder::durations`](crate::ClientBuilder::durations).
    pub fn durations(&self) -> Durations {
        self.shared.waits.schedules.durations(&self.shared.service.base_url)
    }

    /// Adds what an earlier client knew about the durations of tasks, for work of which this client
    /// has not yet seen a task. [`Batch`](https://docs.rs/imagekiln-batch) does this with what its
    /// ledger has kept.
    pub fn add_durations(&self, known: Durations) {
        self.shared.waits.schedules.add(&self.shared.service.base_url, known);
    }

    /// Makes every submission of this client and its clones fail instead of being retried, for
    /// example when a program was asked to stop.
    ///
    /// A submission that waits before its next attempt fails with the error of its last attempt,
    /// and nothing was billed. Without [`max_active`](crate::ClientBuilder::max_active), one that
    /// waits until the service allows more active tasks fails, too. Those that the service may be
    /// processing continue; [`drain`](Self::drain) waits for them. Polls and downloads are still
    /// retried.
    pub fn stop_retrying_submissions(&self) {
        self.shared.submissions.stop_retries();
    }

    /// Waits until no submission is in flight, and returns the tasks that were accepted after their
    /// [`submit`](Self::submit) future was dropped.
    ///
    /// A future is dropped by a timeout, by `select!`, or when the client of a web server
    /// disconnects. The returned tasks are billed. Call this method before the runtime shuts down,
    /// because the shutdown cancels submissions in flight.
    ///
    /// Each task is returned once. The client keeps the last 10,000.
    ///
    /// # Errors
    ///
    /// Kind [`Deadline`](ErrorKind::Deadline): submissions are still in flight, so their billing is
    /// unknown. The next call returns the tasks.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # async fn shut_down(client: imagekiln::Client) -> Result<(), imagekiln::Error> {
    /// for task in client.drain(Duration::from_secs(30)).await? {
    ///     println!("{} was accepted, but nothing waits for it", task.id());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn drain(&self, deadline: Duration) -> Result<Vec<TaskRef>, Error> {
        self.shared.submissions.drain(deadline).await
    }

    async fn open_records(&self) -> Result<Vec<Record>, Error> {
        let Some(journal) = &self.shared.settings.journal else { return Ok(Vec::new()) };
        let records = journal::call(|| journal.open_records()).await;
        records.map_err(|error| error.into_error("could not read the journal"))
    }

    /// Records what happened to a submission.
    async fn advance(&self, submission: &str, step: &Step) -> Result<(), Error> {
        let Some(journal) = &self.shared.settings.journal else { return Ok(()) };
        let written = journal::call(|| journal.advance(submission, step)).await;
        written.map_err(|error| error.into_error("could not write to the journal"))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
