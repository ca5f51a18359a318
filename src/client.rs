//! The client, through which a program sends all requests to the service.

use std::{fmt, sync::Arc, time::Duration};

use url::Url;

use crate::{
    ClientBuilder, Durations, Error, Operation, Region, Slot, Submit, SubmitOptions, Task, TaskRef,
    task::Shared, transport::service::result_url,
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
    /// Kind [`Settings`](crate::ErrorKind::Settings): a variable is missing or invalid. The error
    /// names it.
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env()?.build()
    }

    /// Submits a request and returns its task once the service has accepted it.
    ///
    /// Only this method, [`submit_with`](Self::submit_with) and [`submit_once`](Self::submit_once)
    /// submit a request and cause costs.
    ///
    /// Dropping the future does not cancel the submission, which may already be billed. The client
    /// completes the submission in the background, and [`drain`](Self::drain) returns the accepted
    /// task. If an attempt fails after the future was dropped, the client does not retry, because
    /// nobody would receive the task that it pays for. To cancel a submission that was not sent
    /// completely, use [`SubmitOptions::deadline`].
    ///
    /// # Errors
    ///
    /// [`Error::billing`] returns whether the submission was billed.
    ///
    /// - [`Validation`](crate::ErrorKind::Validation), [`Auth`](crate::ErrorKind::Auth),
    ///   [`Payment`](crate::ErrorKind::Payment), [`RateLimited`](crate::ErrorKind::RateLimited),
    ///   [`File`](crate::ErrorKind::File), [`Settings`](crate::ErrorKind::Settings): usually
    ///   nothing was billed.
    /// - [`Network`](crate::ErrorKind::Network), [`Service`](crate::ErrorKind::Service),
    ///   [`Response`](crate::ErrorKind::Response): depends on when and how the submission failed.
    pub async fn submit(&self, request: impl Submit) -> Result<Task, Error> {
        self.submit_with(request, SubmitOptions::default()).await
    }

    /// Submits a request like [`submit`](Self::submit), with options, for example a deadline, or an
    /// [origin](SubmitOptions::origin) for the [journal](crate::journal).
    ///
    /// ```
    /// # use imagekiln::{Client, Error, SubmitOptions, journal::Origin, types::Gen2Pro};
    /// # async fn submit(client: Client) -> Result<(), Error> {
    /// let request = Gen2Pro::new("a red fox in the snow").seed(7);
    /// let options = SubmitOptions::default().origin(Origin::new("fox-7").target("fox-7.png"));
    /// let task = client.submit_with(request, options).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Deadline`](crate::ErrorKind::Deadline): the deadline passed. Otherwise the same
    /// errors as [`submit`](Self::submit).
    pub async fn submit_with(
        &self,
        request: impl Submit,
        options: SubmitOptions,
    ) -> Result<Task, Error> {
        self.shared.submit(request.into_request(), options, None).await
    }

    /// Waits for a free slot, and returns it. A submission with this slot starts without waiting.
    /// This is for programs of this project that decide what to submit only when they can submit
    /// it.
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
    /// This method sends nothing. The first poll is the first request.
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
        Ok(self.task_at(base, operation.region, id.into(), operation_name))
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

    /// Returns how long the last tasks of this client took. To reuse them in the next process,
    /// store them and pass them to [`ClientBuilder::durations`](crate::ClientBuilder::durations).
    pub fn durations(&self) -> Durations {
        self.shared.waits.schedules.durations(&self.shared.service.base_url)
    }

    /// Adds the durations of tasks that an earlier client has seen. They affect only kinds of work
    /// of which this client has not seen a task yet, and have no effect if they are from another
    /// service.
    ///
    /// For the batches.
    #[doc(hidden)]
    pub fn add_durations(&self, known: Durations) {
        self.shared.waits.schedules.add(&self.shared.service.base_url, known);
    }

    /// Makes every submission of this client and its clones fail instead of being retried, for
    /// example when a program was asked to stop.
    ///
    /// - A submission that is waiting for its next attempt fails with the error of its last
    ///   attempt. Nothing was billed.
    /// - A submission that is waiting for a slot also fails, unless
    ///   [`max_active`](crate::ClientBuilder::max_active) is set.
    /// - A submission that the service may be processing continues. [`drain`](Self::drain) waits
    ///   for it.
    ///
    /// The client still retries polls and downloads.
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn stop_retrying_submissions(&self) {
        self.shared.submissions.stop_retries();
    }

    /// Waits until no submission is in flight, and returns the tasks that were accepted after their
    /// [`submit`](Self::submit) future was dropped.
    ///
    /// A timeout, `select!`, or a web server whose client disconnects, for example, drops the
    /// future. The returned tasks are billed. Call this method before the runtime shuts down,
    /// because the shutdown cancels submissions in flight.
    ///
    /// Each task is returned once. The client keeps the last 10,000.
    ///
    /// # Errors
    ///
    /// Kind [`Deadline`](crate::ErrorKind::Deadline): submissions are still in flight, so their
    /// billing is unknown. The next call returns the tasks.
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
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of waits may be in memory at once, and a future that moves another one into itself
    /// has its size twice. A wait has about 600 bytes.
    #[test]
    fn a_wait_does_not_hold_its_polls_twice() {
        let client =
            Client::builder().api_key("key").base_url("http://127.0.0.1:1").build().unwrap();
        let task = client.task(TaskRef::new("t1", "https://a.example/poll?id=t1", None));
        let size = size_of_val(&task.wait());
        assert!(size <= 900, "{size} bytes");
    }
}
