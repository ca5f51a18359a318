//! Sends one poll: a GET to the polling URL of the task.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use reqwest::{Method, Request};
use tokio::{
    sync::{AcquireError, SemaphorePermit},
    time::{self, Instant},
};
use tracing::Instrument;
use url::Url;

use super::{
    Shared, Task, TaskRef,
    refusal::{RequestKind, error_of},
    update::{Update, read_update},
};
use crate::{
    Error, ErrorKind, Secret, WaitEnd,
    journal::{self, Step},
    retry::status::PollEffect,
    telemetry::{metrics, spans},
    transport::{
        middleware::Purpose,
        observation::Subject,
        redaction::Redaction,
        response::{Ending, Response},
    },
};

/// After this time, a slow poll frees its permit, so that hung polls do not delay those of healthy
/// tasks.
const TURN: Duration = Duration::from_secs(2);

/// Used as "no limit"; a much larger duration would overflow an `Instant`.
const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Why a poll returned no update.
pub(super) enum PollError {
    /// The poll failed, not the task; the next poll may succeed.
    Transient(Error),
    /// Polling again would fail again.
    Permanent(Error),
}

impl PollError {
    fn error(&self) -> &Error {
        match self {
            Self::Transient(error) | Self::Permanent(error) => error,
        }
    }

    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Transient(error) | Self::Permanent(error) => error,
        }
    }
}

impl Task {
    /// Polls the task once.
    ///
    /// A failure status is a normal [`Update`]; only [`wait`](Self::wait) turns it into an error.
    ///
    /// # Errors
    ///
    /// Every error carries the reference of the task.
    ///
    /// - [`Network`](ErrorKind::Network), [`Service`](ErrorKind::Service),
    ///   [`RateLimited`](ErrorKind::RateLimited), [`Response`](ErrorKind::Response): the poll
    ///   failed, not the task. Poll again.
    /// - [`Auth`](ErrorKind::Auth), [`Payment`](ErrorKind::Payment),
    ///   [`KeyWithheld`](ErrorKind::KeyWithheld): polls fail until the cause is fixed.
    pub async fn poll(&self) -> Result<Update, Error> {
        let update = poll(&self.shared, &self.reference, &self.polling_url, NO_LIMIT, 0).await;
        Ok(update.map_err(PollError::into_error)?.with_ready_since(self.ready_since))
    }
}

/// The semaphore is never closed. If it were, polls would have no limit.
type Permit<'a> = Result<SemaphorePermit<'a>, AcquireError>;

/// Polls once, subject to the limit on concurrent polls. Waiting for a permit and the poll together
/// end within `limit`. `parsed` keeps the polling URL for the next poll. `failures` is the number
/// of polls that have failed before this one.
pub(super) async fn poll(
    shared: &Arc<Shared>,
    task: &TaskRef,
    parsed: &OnceLock<Secret<Url>>,
    limit: Duration,
    failures: u32,
) -> Result<Update, PollError> {
    let until = Instant::now() + limit.min(NO_LIMIT);
    // Both futures are boxed, because a waiting task should not hold them between polls. That of
    // an HTTP exchange is large, and thousands of tasks may wait for a permit at once.
    let permit = match shared.polls.try_acquire() {
        Ok(permit) => Some(Ok(permit)),
        Err(_) => Box::pin(time::timeout_at(until, shared.polls.acquire())).await.ok(),
    };
    Box::pin(poll_in_turn(shared, task, parsed, permit, failures, until)).await
}

/// Polls if there is a permit, and records what a final status means for the client.
async fn poll_in_turn(
    shared: &Arc<Shared>,
    task: &TaskRef,
    parsed: &OnceLock<Secret<Url>>,
    permit: Option<Permit<'_>>,
    failures: u32,
    until: Instant,
) -> Result<Update, PollError> {
    let span = spans::poll(task);
    // Taken before the service decides.
    let at = shared.service.clock.now();
    let polled = match permit {
        Some(permit) => {
            get(shared, task, parsed, permit, failures, until).instrument(span.clone()).await
        }
        None => Err(took_too_long(task)),
    };
    let outcome = polled.as_ref().map(Update::status).map_err(PollError::error);
    spans::polled(&span, outcome);
    metrics::poll(task, outcome);
    let update = polled?;
    if update.status().is_final() {
        if let Some(slots) = &shared.slots {
            slots.release(task);
        }
        let step = Step::Polled { status: update.status().clone(), at };
        journal::note(shared.settings.journal.as_deref(), task, &step).await;
    }
    Ok(update)
}

/// Sends the request and reads the response. Frees the permit early if that is slow.
async fn get(
    shared: &Arc<Shared>,
    task: &TaskRef,
    parsed: &OnceLock<Secret<Url>>,
    permit: Permit<'_>,
    failures: u32,
    until: Instant,
) -> Result<Update, PollError> {
    let url = match parsed.get() {
        Some(url) => url,
        None => {
            let url = Secret::new(polling_url(shared, task)?);
            parsed.get_or_init(|| url)
        }
    }
    .get();
    let service = &shared.service;
    let started = Instant::now();
    let until = until.min(started + shared.settings.poll_deadline);
    // Taken before the service signs the delivery URL, so that the computed expiry is never too
    // late.
    let asked_at = service.clock.now();
    let exchange = async {
        let connection = service.connections.to(url);
        let mut request = Request::new(Method::GET, url.clone());
        let subject =
            Subject { operation: task.operation(), task_id: Some(task.id()), resends: failures };
        let observation = service.begin(Purpose::Poll, url, subject, request.headers_mut());
        let sending = async {
            let sending = connection.http.execute(request);
            let response = sending.instrument(observation.span()).await;
            observation.finish(&response);
            response
        };
        let watched = service.connections.watch((url, &connection), || started, || until, sending);
        let mut response = watched
            .await
            .ok_or_else(|| took_too_long(task))?
            .map_err(|error| broken(task, error))?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let limits = service.response_limits(until);
        let response = Response::read(status, headers, response.bytes_stream(), limits).await;
        if matches!(response.ending, Ending::Silent | Ending::TooSlow) {
            service.connections.abandon(url, &connection);
        }
        Ok(response)
    };
    let mut exchange = std::pin::pin!(exchange);
    let response = match time::timeout(TURN, exchange.as_mut()).await {
        Ok(response) => response,
        Err(_) => {
            drop(permit);
            exchange.await
        }
    }?;
    service.record_poll(url, task, &response);
    let http_status = response.status.as_u16();
    let update = read(shared, task, url, response, asked_at);
    tracing::debug!(http_status, "polled");
    update
}

/// Converts the response of the polling URL to an update, or to an error.
pub(super) fn read(
    shared: &Arc<Shared>,
    task: &TaskRef,
    url: &Url,
    mut response: Response,
    asked_at: SystemTime,
) -> Result<Update, PollError> {
    let secrets = &shared.service.secrets;
    let redaction = Redaction::of_poll_body(secrets, task, url, response.body.as_deref());
    // `Task not found` may come with status code 404. If the body has a status, it takes
    // precedence.
    let update = if response.status.is_success() || response.status.as_u16() == 404 {
        read_update(shared, task, &mut response, &redaction, asked_at)
    } else {
        None
    };
    // An error also contains text of the headers.
    update.ok_or_else(|| failed(shared, task, response, &Redaction::of_poll(secrets, task, url)))
}

/// Returns the polling URL, if it may receive the key.
pub(super) fn polling_url(shared: &Shared, task: &TaskRef) -> Result<Url, PollError> {
    let refused = |error: Error| {
        PollError::Permanent(error.with_task(task).with_end(WaitEnd::Refused { status: None }))
    };
    let url = task.polling_url().parse().map_err(|error| {
        refused(
            Error::new(ErrorKind::Usage, "could not parse the polling URL")
                .with_advice("the task continues; resume it by its id")
                .with_function("Client::task_by_id")
                .with_source(error),
        )
    })?;
    if shared.service.key_origins.may_receive_key(&url) {
        return Ok(url);
    }
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let message = format!(
        "the polling URL is at {}://{host}, which is not allowed to receive the key",
        url.scheme()
    );
    let advice = format!(
        "the task continues; if {host} belongs to the service, allow it to receive the key and \
         resume the task"
    );
    let error = Error::new(ErrorKind::KeyWithheld, message)
        .with_advice(advice)
        .with_function("ClientBuilder::allow_polling_host");
    Err(refused(error.with_withheld_host(host)))
}

/// Converts a response that is not an update to an error.
fn failed(shared: &Shared, task: &TaskRef, response: Response, redaction: &Redaction) -> PollError {
    let status = response.status;
    if status.is_success() {
        return match response.ending {
            Ending::Broken(error) => broken(task, error),
            Ending::Silent | Ending::TooSlow => took_too_long(task),
            Ending::TooLong => unreadable(task, "is too large"),
            Ending::Complete if response.get("status").is_some_and(|status| status == "Ready") => {
                unreadable(task, "has status `Ready` but no delivery URL")
            }
            Ending::Complete => unreadable(task, "has no status"),
        };
    }
    let operation = task.operation();
    let (error, meaning) = error_of(shared, RequestKind::Poll, operation, &response, redaction);
    let error = error.with_task(task);
    match meaning.poll {
        PollEffect::Again => transient(error),
        PollEffect::End => {
            let end = WaitEnd::Refused { status: Some(status.as_u16()) };
            let advice = match error.kind() {
                ErrorKind::Auth | ErrorKind::Payment => {
                    format!("{}; the task continues", meaning.advice)
                }
                _ => "the task continues; resume it later".to_owned(),
            };
            PollError::Permanent(error.with_advice(advice).with_end(end))
        }
    }
}

fn unreadable(task: &TaskRef, what: &str) -> PollError {
    transient(Error::new(ErrorKind::Response, format!("the poll response {what}")).with_task(task))
}

fn broken(task: &TaskRef, error: reqwest::Error) -> PollError {
    let message = if error.is_connect() {
        "could not connect to the polling host"
    } else {
        "the connection broke during the poll"
    };
    transient(
        Error::new(ErrorKind::Network, message).with_task(task).with_source(error.without_url()),
    )
}

fn took_too_long(task: &TaskRef) -> PollError {
    transient(Error::new(ErrorKind::Network, "the poll timed out").with_task(task))
}

fn transient(error: Error) -> PollError {
    PollError::Transient(error.with_advice("the poll failed, not the task; poll again"))
}
