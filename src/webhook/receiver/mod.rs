//! A receiver of webhooks for axum.

mod follow;
mod memory;
mod request;

use std::{fmt, pin::Pin, sync::Arc};

use axum::{Router, extract::DefaultBodyLimit, routing::post};
use tokio::sync::Semaphore;

use self::{memory::Memory, request::receive};
use super::Verifier;
use crate::{Client, Error, Picture, WaitOptions};

/// How many events may wait for their confirmation by default.
const DEFAULT_MAX_PENDING: usize = 1024;

type Handler =
    Box<dyn Fn(Result<Picture, Error>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Receives webhooks in an [axum](https://docs.rs/axum) server, confirms them, and hands finished
/// tasks over.
///
/// 1. A delivery is verified and answered with 204 at once. That means received, not handled.
/// 2. The task is polled with the key, where it was submitted. Polls that fail are retried until
///    the deadline of the [wait options](Self::wait_options). Waits of the same client for the task
///    poll at once, too.
/// 3. When a poll sees the final status, the handler is called with what
///    [`Task::wait`](crate::Task::wait) would return: the picture, or an error with the task's
///    reference.
///
/// The handler is called once for a task. Further deliveries of an event that was handled are
/// answered and ignored; the last 10,000 events and tasks are remembered. If the handler panics,
/// the next delivery calls it again. If an event can't be confirmed, that is logged, and the next
/// delivery is confirmed again.
///
/// An event may arrive before [`Client::submit`] has returned. If this client has submissions under
/// way, the event is held until they have ended, for a minute at most. The task of another process,
/// or of one that was restarted, is polled by its id, at the service's address and then at the
/// regional one.
///
/// Other responses are 401 (not verified), 413 (the body is too large), 400 (the body is not JSON,
/// or broke off), 408 (the body took too long), and 503 if too many events wait for their
/// confirmation: the service may deliver those again.
///
/// ```
/// use imagekiln::{Client, Error, Picture, webhook::{Receiver, Verifier}};
///
/// # fn app(client: Client) -> Result<axum::Router, Error> {
/// let receiver = Receiver::new(client, Verifier::standard("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"));
/// let webhooks = receiver.router(|outcome: Result<Picture, Error>| async move {
///     match outcome {
///         Ok(picture) => println!("{} is ready", picture.task().id()),
///         Err(error) => eprintln!("{error}"),
///     }
/// })?;
/// let app = axum::Router::new().nest("/webhooks/kiln", webhooks);
/// # Ok(app)
/// # }
/// ```
#[must_use]
pub struct Receiver {
    client: Client,
    verifier: Verifier,
    max_pending: usize,
    wait_options: WaitOptions,
}

impl Receiver {
    /// A receiver for the tasks of this client. Waits of its clones are woken.
    pub fn new(client: Client, verifier: Verifier) -> Self {
        Self {
            client,
            verifier,
            max_pending: DEFAULT_MAX_PENDING,
            wait_options: WaitOptions::default(),
        }
    }

    /// How many events may wait for their confirmation, or for the handler, at once; 1024 by
    /// default. Each takes about a kilobyte. Further deliveries are answered with 503.
    pub fn max_pending(mut self, events: usize) -> Self {
        self.max_pending = events;
        self
    }

    /// How an event is confirmed: for how long, and how often its task is polled. The defaults are
    /// those of a wait.
    pub fn wait_options(mut self, options: WaitOptions) -> Self {
        self.wait_options = options;
        self
    }

    /// A router that takes deliveries by POST at `/`, to be nested where the `webhook_url` of the
    /// requests leads.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): the verifier can't be used.
    pub fn router<H, F>(self, handler: H) -> Result<Router, Error>
    where
        H: Fn(Result<Picture, Error>) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.verifier.check()?;
        let shared = Shared {
            client: self.client,
            verifier: self.verifier,
            wait_options: self.wait_options,
            pending: Arc::new(Semaphore::new(self.max_pending.min(Semaphore::MAX_PERMITS))),
            memory: Memory::default(),
            handler: Box::new(move |outcome| Box::pin(handler(outcome))),
        };
        let body_limit = DefaultBodyLimit::max(shared.verifier.largest_body());
        Ok(Router::new().route("/", post(receive)).layer(body_limit).with_state(Arc::new(shared)))
    }
}

/// What all deliveries to a receiver have in common.
struct Shared {
    client: Client,
    verifier: Verifier,
    wait_options: WaitOptions,
    pending: Arc<Semaphore>,
    memory: Memory,
    handler: Handler,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("client", &self.client)
            .field("verifier", &self.verifier)
            .finish_non_exhaustive()
    }
}
