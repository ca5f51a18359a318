//! A client for programs without an async runtime (feature `blocking`).
//!
//! Its methods block the thread until they have their result, and otherwise have the names and keep
//! the promises of the async methods. The streams of the async client are iterators here.
//!
//! ```rust,test_harness
//! use imagekiln::{blocking::Client, types::Gen2Pro};
//!
//! fn main() -> Result<(), imagekiln::Error> {
//!     let client = Client::from_env()?;
//!     let request = Gen2Pro::new("a red fox in the snow").width(512).height(384);
//!     let task = client.submit(request)?; // the POST happens here, and only here
//!     if let Some(credits) = task.cost() {
//!         println!("{} costs {credits} credits", task.id());
//!     }
//!     task.wait()?.save("fox.jpg")?;
//!     Ok(())
//! }
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/main.in"));
//! ```
//!
//! [`ClientBuilder::build_blocking`] builds a client from the same settings as the async one. The
//! values are those of the async client in a [`Blocking`].
//!
//! A client has a thread of its own, which sends the requests of all its clones. A submission runs
//! on this thread to its end, even if [`ClientBuilder::submit_deadline`] has ended the call, or if
//! the program has dropped the client: the thread ends after the last submission. The end of the
//! program would interrupt it, so call [`Client::drain`] before.
//!
//! # In async code
//!
//! A call that blocks the thread of a runtime would stop other tasks. Calls in async code return an
//! error of kind [`Usage`](crate::ErrorKind::Usage) and send nothing. They never panic, and a
//! client may be dropped anywhere. Use [`imagekiln::Client`](crate::Client) in async code, or move
//! the call to [`tokio::task::spawn_blocking`].
//!
//! # What only the async client has
//!
//! `webhook::Receiver` is a part of an async web server, so there is no blocking one. A
//! [`Journal`](crate::journal::Journal) or a [`Middleware`](crate::middleware::Middleware) is the
//! same for both clients. Both run on the thread of the client, which they must not block.
//!
//! [`ClientBuilder::build_blocking`]: crate::ClientBuilder::build_blocking
//! [`ClientBuilder::submit_deadline`]: crate::ClientBuilder::submit_deadline

mod background;
mod task;

use std::{fmt, future::poll_fn, ops::Deref, pin::Pin, sync::Arc, time::Duration};

use futures_core::Stream;

use self::background::{Background, refuse_in_async_code};
pub use self::task::{Picture, PictureStream, Task, Update, Updates};
#[cfg(feature = "webhook")]
use crate::webhook::Event;
use crate::{
    ClientBuilder, Error, Operation, Region, Submit, SubmitOptions, TaskRef,
    journal::{Key, Record},
};

/// A value of the async client, with blocking methods.
///
/// `Blocking` dereferences to the async value, for the methods that neither wait nor send anything.
#[derive(Clone)]
#[must_use = "a task and its picture are billed: wait for it, fetch it, or keep its reference"]
pub struct Blocking<T> {
    // Declared first, so that it is dropped before `background`, which lets the thread end.
    inner: T,
    background: Arc<Background>,
}

impl<T> Blocking<T> {
    /// Wraps another value of the same client.
    fn with<O>(&self, inner: O) -> Blocking<O> {
        Blocking { inner, background: Arc::clone(&self.background) }
    }
}

impl<T: Clone> Blocking<T> {
    /// Runs an async method of the value on the thread of the client.
    fn call<O: Send + 'static, F>(&self, method: impl FnOnce(T) -> F) -> Result<O, Error>
    where
        F: Future<Output = Result<O, Error>> + Send + 'static,
    {
        self.background.run(method(self.inner.clone()))
    }

    /// Runs an async method like [`call`](Self::call), and wraps its outcome.
    fn get<O: Send + 'static, F>(&self, method: impl FnOnce(T) -> F) -> Result<Blocking<O>, Error>
    where
        F: Future<Output = Result<O, Error>> + Send + 'static,
    {
        Ok(self.with(self.call(method)?))
    }
}

impl<T> Deref for Blocking<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for Blocking<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<S> Blocking<Option<S>> {
    /// Returns the next item of the stream. After the last item or an error, `inner` is `None`, and
    /// so is every further item.
    fn next_item<T>(&mut self) -> Option<Result<T, Error>>
    where
        S: Stream<Item = Result<T, Error>> + Send + Unpin + 'static,
        T: Send + 'static,
    {
        let mut stream = self.inner.take()?;
        let next = self.background.run(async move {
            let item = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await.transpose()?;
            Ok((stream, item))
        });
        match next {
            Ok((stream, item)) => {
                let item = item?;
                self.inner = Some(stream);
                Some(Ok(item))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// A blocking client of the service; see [`blocking`](crate::blocking).
///
/// `Client` is cheap to clone. Clones share a thread, connections, limits and retry budgets.
/// Several threads may use a client at the same time.
pub type Client = Blocking<crate::Client>;

/// A submission in the journal that is not finished.
pub type Unfinished = crate::Unfinished<Task>;

/// The result of a submission with an idempotency key, like [`crate::Once`].
pub type Once = crate::Once<Task>;

impl ClientBuilder {
    /// Builds a blocking client with these settings, and starts its thread.
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
    /// Returns a builder with the default settings, which is the same for both clients.
    /// [`build_blocking`](ClientBuilder::build_blocking) builds a blocking client.
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
    /// If [`ClientBuilder::submit_deadline`] passes, this call ends with an error. A submission
    /// that the service may be processing continues on the thread of the client, and
    /// [`drain`](Self::drain) returns its task.
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::submit`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn submit(&self, request: impl Submit) -> Result<Task, Error> {
        self.submit_with(request, SubmitOptions::default())
    }

    /// Submits a request like [`submit`](Self::submit), with options, for example a deadline, as
    /// [`crate::Client::submit_with`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::submit_with`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn submit_with(&self, request: impl Submit, options: SubmitOptions) -> Result<Task, Error> {
        let request = request.into_request();
        self.get(|client| async move { client.submit_with(request, options).await })
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

    /// Waits until no submission is in flight, and returns the tasks that were accepted after their
    /// call had ended, as [`crate::Client::drain`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::drain`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn drain(&self, deadline: Duration) -> Result<Vec<TaskRef>, Error> {
        self.call(|client| async move { client.drain(deadline).await })
    }

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

#[cfg(feature = "webhook")]
impl Client {
    /// Confirms an event by polling its task once, as [`crate::Client::confirm`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::confirm`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn confirm(&self, event: &Event, task: &TaskRef) -> Result<Update, Error> {
        let (event, task) = (event.clone(), task.clone());
        self.get(|client| async move { client.confirm(&event, &task).await })
    }

    /// Returns the reference of the task that an event is about, if this client submitted it, as
    /// [`crate::Client::task_of`].
    ///
    /// # Errors
    ///
    /// Kind [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn task_of(&self, event: &Event) -> Result<Option<TaskRef>, Error> {
        let event = event.clone();
        self.call(|client| async move { Ok(client.task_of(&event).await) })
    }

    /// Confirms an event for a task without a known reference, as [`crate::Client::confirm_in`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Client::confirm_in`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn confirm_in(&self, event: &Event, region: Region) -> Result<Update, Error> {
        let event = event.clone();
        self.get(|client| async move { client.confirm_in(&event, region).await })
    }
}
