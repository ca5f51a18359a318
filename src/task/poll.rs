//! Sends one poll, a GET to the polling URL of the task, and reads its result.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::SemaphorePermit,
    time::{self, Instant},
};
use tracing::Instrument;
use url::Url;

use super::{
    Shared, Task,
    failures::{error_of, failure},
};
use crate::{
    Address, Error, ErrorKind, Picture, TaskRef, TaskStatus, WaitEnd,
    contract::{Findings, read_response},
    journal::{self, Step},
    retry::{date_of, status::PollEffect},
    telemetry,
    transport::{
        download::{get, redirect_target},
        middleware::Purpose,
        recording::Recording,
        redaction::Redaction,
        response::{Ending, Response},
    },
    types::PollResult,
    values::{Moment, NO_LIMIT, one_line},
};

/// After this time, a slow poll frees its permit, so that hung polls do not delay the polls of
/// other tasks.
const TURN: Duration = Duration::from_secs(2);

/// The most redirects of one poll.
const MOST_REDIRECTS: u32 = 3;

/// The maximum length of the details of a failure, in bytes.
const LONGEST_DETAILS: usize = 2000;

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
        self.poll_within(NO_LIMIT, 0).await
    }

    /// Polls once, subject to the limit on concurrent polls. Waiting for a permit and the poll
    /// together end within `limit`. `failures` is the number of polls that have failed before this
    /// one. If another poll would fail in the same way, the error has a
    /// [`wait_end`](Error::wait_end).
    pub(super) async fn poll_within(
        &self,
        limit: Duration,
        failures: u32,
    ) -> Result<Update, Error> {
        let until = Instant::now() + limit.min(NO_LIMIT);
        let polls = &self.shared.polls;
        // Both futures are boxed, so that a waiting task does not hold them between polls. The
        // future of an HTTP exchange is large, and thousands of tasks may wait for a permit at
        // once.
        let permit = match polls.try_acquire() {
            Ok(permit) => Some(permit),
            // The semaphore is never closed.
            Err(_) => {
                Box::pin(time::timeout_at(until, polls.acquire())).await.ok().and_then(Result::ok)
            }
        };
        Box::pin(self.poll_in_turn(permit, failures, until)).await
    }

    /// Polls if there is a permit. After a final status, frees the slot of the task, and records
    /// the status in the journal.
    async fn poll_in_turn(
        &self,
        permit: Option<SemaphorePermit<'_>>,
        failures: u32,
        until: Instant,
    ) -> Result<Update, Error> {
        let Self { shared, reference: task, .. } = self;
        let span = telemetry::poll_span(task);
        // This time is taken before the service signs the delivery URL, so that the computed expiry
        // is never too late.
        let sent = Moment::now(shared.service.clock.now());
        let polled = match permit {
            Some(permit) => self.get(permit, failures, until, sent).instrument(span.clone()).await,
            None => Err(timed_out()),
        };
        let polled = polled.map_err(|error| match error.wait_end() {
            Some(_) => error.with_task(task),
            None => error.with_task(task).with_advice("the poll failed, not the task; poll again"),
        });
        telemetry::polled(&span, task, polled.as_ref().map(|(update, _)| update.status()));
        let (update, Moment { at, date, .. }) = polled?;
        shared.has_answered.store(true, Relaxed);
        if update.status().is_final() {
            shared.slots.release(task);
            let (status, details) = (update.status().clone(), update.details.clone());
            let step = Step::Polled { status, at, date, details };
            // If the task was paid with a different key, this key may not find it, so `Task not
            // found` proves nothing and must not close the record.
            let is_proof = *update.status() != TaskStatus::TaskNotFound || !self.has_other_key;
            let journal = shared.settings.journal.as_deref().filter(|_| is_proof);
            journal::note(journal, task, &step).await;
        }
        Ok(update)
    }

    /// Sends the request and reads the response. Frees the permit early if that is slow.
    async fn get(
        &self,
        permit: SemaphorePermit<'_>,
        failures: u32,
        until: Instant,
        sent: Moment,
    ) -> Result<(Update, Moment), Error> {
        let Self { shared, reference: task, .. } = self;
        let url = &self.polling_url()?;
        let service = &shared.service;
        let until = until.min(Instant::now() + shared.settings.poll_deadline);
        let exchange = async {
            let connection = service.connections.to(url, true);
            let mut at = url.clone();
            let mut redirects = 0;
            let mut response = loop {
                let connected = (&at, &connection);
                let sent = get(service, Purpose::Poll, task, connected, failures, until).await;
                let response = sent.ok_or_else(timed_out)?.map_err(broken)?;
                redirects += 1;
                // Only a target with the same scheme, host and port may receive the key.
                let next = redirect_target(&at, &response)
                    .filter(|next| redirects <= MOST_REDIRECTS && next.origin() == at.origin());
                match next {
                    Some(next) => at = next,
                    None => break response,
                }
            };
            let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
            let body = response.bytes_stream();
            let response = Response::read(status, headers, body, service.silence, until).await;
            if matches!(response.ending, Ending::TimedOut) {
                service.connections.abandon(&connection);
            }
            service.record(|recorded_at| {
                let redaction = Redaction::of_poll(&service.secrets, task, url);
                let operation = task.operation();
                Recording::new(operation, url.path(), None, &response, &redaction, recorded_at)
            });
            tracing::debug!(http_status = response.status.as_u16(), "polled");
            self.read(url, response, sent)
        };
        let mut exchange = std::pin::pin!(exchange);
        if let Ok(polled) = time::timeout(TURN, exchange.as_mut()).await {
            return polled;
        }
        drop(permit);
        exchange.await
    }

    /// Converts the response of the polling URL to an update, or to an error.
    fn read(&self, url: &Url, response: Response, sent: Moment) -> Result<(Update, Moment), Error> {
        let Self { shared, reference: task, .. } = self;
        let secrets = &shared.service.secrets;
        let polled = Moment { date: date_of(&response.headers), ..sent };
        // `Task not found` may come with status code 404. If the body has a status, it takes
        // precedence.
        if response.status.is_success() || response.status.as_u16() == 404 {
            let redaction = Redaction::of_poll_body(secrets, task, url, response.body.as_deref());
            if let Some(update) = self.read_update(&response, &redaction, polled) {
                return Ok((update, polled));
            }
        }
        // The error also contains text of the headers, so the redaction must not be limited to the
        // body.
        Err(failed(shared, task, response, &Redaction::of_poll(secrets, task, url)))
    }

    /// Reads the status and the picture from a poll response (schema `PollResult` of the contract),
    /// even if other fields are damaged or have unexpected types.
    fn read_update(
        &self,
        response: &Response,
        redaction: &Redaction,
        polled: Moment,
    ) -> Option<Update> {
        let Self { shared, reference: task, .. } = self;
        let object = response.object()?;
        let status = object.get("status").and_then(Value::as_str);
        let status = status.map(|status| match TaskStatus::from(status) {
            // A status that the contract does not list is arbitrary text, which may contain a
            // secret.
            TaskStatus::InProgress(_) => TaskStatus::from(redaction.redact(status).as_str()),
            listed => listed,
        });
        let sample = object.get("result").and_then(|result| result.get("sample"));
        let mut redacted = object.clone();
        redaction.redact_json_except_urls(&mut redacted);
        let (read, unexpected) = read_response::<PollResult>(redacted);
        // A failed response without a status says nothing about the task.
        if status.is_some() || response.status.is_success() {
            let unlisted = status.as_ref().filter(|status| !status.is_final());
            let findings = Findings {
                operation: task.operation(),
                response: "PollResult",
                unexpected,
                status: unlisted,
                has_picture: unlisted.is_some() && sample.is_some(),
            };
            shared.drift.report(findings, response.document.as_ref());
        }
        let (status, response) = (status?, read?);
        if !status.is_success() {
            let details = if status.is_failure() { details_of(object, redaction) } else { None };
            return Some(Update { status, response, picture: None, details });
        }
        // A success without a usable delivery URL counts as a failed poll, because a later poll may
        // return the URL of the paid picture.
        let address = sample.and_then(delivery_url)?;
        let source = Arc::clone(shared);
        let picture = Picture::new(source, TaskRef::clone(task), address, polled, self.ready_since);
        Some(Update { status, response, picture: Some(picture), details: None })
    }

    /// Returns the polling URL, if it may receive the key.
    fn polling_url(&self) -> Result<Url, Error> {
        let refused = |error: Error| error.with_end(WaitEnd::Refused { status: None });
        let url = self.reference.polling_url().parse().map_err(|error| {
            refused(
                Error::new(ErrorKind::Usage, "could not parse the polling URL")
                    .with_advice("the task continues; resume it by its id")
                    .with_function("Client::task_by_id")
                    .with_source(error),
            )
        })?;
        if self.shared.service.key_origins.may_receive_key(&url) {
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
}

/// Converts a response that is not an update to an error.
fn failed(shared: &Shared, task: &TaskRef, response: Response, redaction: &Redaction) -> Error {
    let status = response.status;
    if status.is_success() {
        let what = match response.ending {
            Ending::Broken(error) => return broken(error),
            Ending::TimedOut => return timed_out(),
            Ending::TooLong => "is too large",
            Ending::Complete if response.get("status").is_some_and(|status| status == "Ready") => {
                "has status `Ready` but no delivery URL"
            }
            Ending::Complete => "has no status",
        };
        return Error::new(ErrorKind::Response, format!("the poll response {what}"));
    }
    let (error, meaning) = error_of(shared, Purpose::Poll, task.operation(), &response, redaction);
    if meaning.poll == PollEffect::Again {
        return error;
    }
    let advice = match error.kind() {
        ErrorKind::Auth | ErrorKind::Payment => format!("{}; the task continues", meaning.advice),
        _ => "the task continues; resume it later".to_owned(),
    };
    error.with_advice(advice).with_end(WaitEnd::Refused { status: Some(status.as_u16()) })
}

fn broken(error: reqwest::Error) -> Error {
    let message = if error.is_connect() {
        "could not connect to the polling host"
    } else {
        "the connection broke during the poll"
    };
    Error::new(ErrorKind::Network, message).with_source(error.without_url())
}

fn timed_out() -> Error {
    Error::new(ErrorKind::Network, "the poll timed out")
}

/// The result of a successful poll.
#[derive(Debug, Clone)]
pub struct Update {
    status: TaskStatus,
    response: PollResult,
    picture: Option<Picture>,
    /// What the service says about a failure besides the status.
    details: Option<Value>,
}

impl Update {
    /// Returns the status of the task.
    pub fn status(&self) -> &TaskStatus {
        &self.status
    }

    /// Returns the picture, if the status is [`Ready`](TaskStatus::Ready).
    pub fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    /// Returns the complete poll response. Its `extra` contains the fields that the contract does
    /// not define, for example a progress value, and the fields whose values have a different type
    /// than the contract defines.
    pub fn response(&self) -> &PollResult {
        &self.response
    }

    /// Returns the picture of a [final](TaskStatus::is_final) update of this task, or the error
    /// that [`Task::wait`] returns for it.
    ///
    /// # Errors
    ///
    /// [`TaskFailed`](ErrorKind::TaskFailed), [`Moderated`](ErrorKind::Moderated),
    /// [`TaskNotFound`](ErrorKind::TaskNotFound): the task has ended without a picture.
    pub fn into_picture(self, task: &TaskRef) -> Result<Picture, Error> {
        let Self { status, picture, details, .. } = self;
        picture.ok_or_else(|| failure(status, task, details.as_ref()))
    }
}

/// Returns the members of the poll response of a failed task, except the id and the status, and
/// without secrets.
fn details_of(response: &Value, redaction: &Redaction) -> Option<Value> {
    let mut members = response.as_object()?.clone();
    members.retain(|name, value| !["id", "status"].contains(&name.as_str()) && !value.is_null());
    if members.is_empty() {
        return None;
    }
    let mut details = Value::Object(members);
    redaction.redact_json(&mut details);
    let text = details.to_string();
    let is_long = text.len() > LONGEST_DETAILS;
    Some(if is_long { one_line(&text, LONGEST_DETAILS).into() } else { details })
}

fn delivery_url(sample: &Value) -> Option<Address> {
    let address = Address::from(sample.as_str()?);
    let url = address.parse().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(address)
}
