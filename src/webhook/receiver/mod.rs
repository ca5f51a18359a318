//! The receiver of webhooks in an axum server.

mod follow;

use std::{pin::Pin, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, Request, State},
    http::StatusCode,
    routing::post,
};
use tokio::{sync::Semaphore, time::timeout};

use self::follow::{Followers, Handled, PendingEvent, follow};
use super::{event::Event, scheme::Fingerprint, verifier::Verifier};
use crate::{Client, Error, Picture, Region, WaitOptions};

/// The default maximum number of events that wait for confirmation or for the handler.
const DEFAULT_MAX_PENDING: usize = 1024;

type Handler =
    Box<dyn Fn(Result<Picture, Error>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Receives webhooks in an [axum](https://docs.rs/axum) server, confirms them, and passes finished
/// tasks to a handler.
///
/// 1. The receiver verifies a delivery and immediately responds with 204. This response
///    acknowledges that the event was received, not that it was handled.
/// 2. It polls the task with the key in the region of its submission. It retries failed polls until
///    the deadline of the [wait options](Self::wait_options). It also wakes waits of the same
///    client for the task.
/// 3. When a poll returns the final status, it calls the handler with the result that
///    [`Task::wait`](crate::Task::wait) would return: the picture, or an error with the reference
///    of the task.
///
/// The receiver calls the handler once per task. It remembers the last 10,000 events and the last
/// 10,000 tasks, and acknowledges repeated deliveries of a handled event without handling them
/// again. If the handler panics, the next delivery of an event about the task calls the handler
/// again. If an event cannot be confirmed, the receiver logs this, and tries again at the next
/// delivery.
///
/// An event may arrive before [`Client::submit`] has returned. If the task is not known yet, and
/// submissions of this client with a webhook are in flight, the event waits for these submissions
/// for at most a minute. If this client has not submitted the task, for example because an earlier
/// process did, the receiver polls the task by its id, first at the base URL and then at the
/// regional base URL.
///
/// The other responses are 401 (not verified), 413 (the body is too large), 400 (the body is not
/// JSON or is incomplete), 408 (the body took too long) and 503 (too many events are waiting for
/// confirmation). The service may repeat those deliveries.
///
/// ```
/// use imagekiln::{Client, Error, Picture, webhook::{Receiver, Verifier}};
///
/// # fn app(client: Client) -> Result<axum::Router, Error> {
/// let verifier = Verifier::standard("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
/// let receiver = Receiver::new(client, verifier);
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
#[derive(Debug)]
#[must_use]
pub struct Receiver {
    client: Client,
    verifier: Verifier,
    max_pending: usize,
    wait_options: WaitOptions,
}

impl Receiver {
    /// Creates a receiver for the tasks of this client and its clones.
    pub fn new(client: Client, verifier: Verifier) -> Self {
        Self {
            client,
            verifier,
            max_pending: DEFAULT_MAX_PENDING,
            wait_options: WaitOptions::default(),
        }
    }

    /// Sets the maximum number of events that wait for confirmation or for the handler. The default
    /// is 1024.
    ///
    /// Each event takes about a kilobyte of memory. If this many events are waiting, the receiver
    /// responds to further deliveries with 503.
    pub fn max_pending(mut self, events: usize) -> Self {
        self.max_pending = events;
        self
    }

    /// Sets for how long and how often the receiver polls the task of an event. The defaults are
    /// the default `WaitOptions`.
    pub fn wait_options(mut self, options: WaitOptions) -> Self {
        self.wait_options = options;
        self
    }

    /// Returns a router that accepts deliveries by POST at `/`. Nest it at the path of the
    /// `webhook_url`.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): a setting of the verifier is invalid.
    pub fn router<H, F>(self, handler: H) -> Result<Router, Error>
    where
        H: Fn(Result<Picture, Error>) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.verifier.check()?;
        let Self { client, verifier, max_pending, wait_options } = self;
        // A handler may panic before it returns its future, and this must not end the follower.
        let handler = Arc::new(handler);
        let handle = move |outcome| {
            let handler = Arc::clone(&handler);
            async move { handler(outcome).await }
        };
        let shared = Shared {
            client,
            verifier,
            wait_options,
            pending: Arc::new(Semaphore::new(max_pending.min(Semaphore::MAX_PERMITS))),
            events: Handled::new(),
            tasks: Handled::new(),
            followers: Followers::default(),
            handler: Box::new(move |outcome| Box::pin(handle(outcome))),
        };
        shared.client.expect_events();
        let body_limit = DefaultBodyLimit::max(shared.verifier.max_body);
        Ok(Router::new().route("/", post(receive)).layer(body_limit).with_state(Arc::new(shared)))
    }
}

/// The state that all deliveries to a receiver share.
struct Shared {
    client: Client,
    verifier: Verifier,
    wait_options: WaitOptions,
    pending: Arc<Semaphore>,
    /// Events that are being handled or were handled.
    events: Arc<Handled<Fingerprint>>,
    /// Tasks that were passed to the handler, by region and id. The polling URL is not a part of
    /// the key, because one task may have two: the URL from the response to its submission, and the
    /// URL that the client builds from the id in an event.
    tasks: Arc<Handled<(Option<Region>, String)>>,
    followers: Followers,
    handler: Handler,
}

/// The time limit for the body of a delivery.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// Verifies a delivery and responds to it. The event is processed in a separate task.
async fn receive(State(shared): State<Arc<Shared>>, request: Request) -> StatusCode {
    let headers = request.headers().clone();
    let body = match timeout(BODY_LIMIT, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(rejection)) => return rejection.status(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
    };
    match shared.verifier.verify(&headers, &body) {
        Ok(event) => accept(&shared, event),
        Err(rejection) => {
            tracing::warn!(%rejection, "webhook rejected");
            rejection.status()
        }
    }
}

fn accept(shared: &Arc<Shared>, event: Event) -> StatusCode {
    let Some(task_id) = event.task_id() else {
        tracing::warn!("webhook contains no task id; set its location with Verifier::task_id");
        return StatusCode::NO_CONTENT;
    };
    let Some(in_progress) = shared.events.begin(event.verified.fingerprint) else {
        tracing::debug!(task_id, "webhook already received");
        return StatusCode::NO_CONTENT;
    };
    let Ok(permit) = Arc::clone(&shared.pending).try_acquire_owned() else {
        tracing::warn!(task_id, "webhook rejected: too many events are waiting for confirmation");
        return StatusCode::SERVICE_UNAVAILABLE;
    };
    tracing::debug!(task_id, "webhook received");
    // Keep the event without its body, because many waiting events with large bodies would exhaust
    // the memory.
    let claimed_status = event.claimed_status().cloned();
    let pending = PendingEvent { claimed_status, in_progress, _permit: permit };
    let is_first = shared.followers.add(task_id, pending);
    if is_first {
        tokio::spawn(follow(Arc::clone(shared), task_id.to_owned()));
    }
    StatusCode::NO_CONTENT
}
