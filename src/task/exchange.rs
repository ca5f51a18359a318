//! One attempt of a submission. It sends the request once, and returns the accepted task, or an
//! error that says whether the submission may be billed and whether it may be sent again.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use progenitor_client::{ByteStream, Error as ClientError, ResponseValue};
use tokio::time::{self, Instant};
use url::Url;

use super::{
    Shared, Submitted, Task,
    acceptance::{find_task, has_polling_url},
    failures::{error_of, unknown},
    schedules::work_of,
    submissions::InFlight,
};
use crate::{
    Error, ErrorKind, Request, generated,
    journal::{self, Intent},
    retry::status::{SubmissionEffect, is_tls_failure, was_not_processed},
    transport::{
        body::{BodyPlan, Permit, Progress, StreamedBody},
        middleware::Purpose,
        recording::Recording,
        redaction::{Learned, Redaction},
        response::{Ending, Response},
        service::{Hooks, path_of},
    },
};

/// The maximum duration of a response from its first byte to its last, as a multiple of the silence
/// limit.
const LONGEST_RESPONSE: u32 = 4;

/// The assumed size of the send buffers of the operating system in bytes, and the assumed speed of
/// a slow connection in bytes per second. The client cannot observe when buffered bytes leave the
/// machine, so it adds the time to send them to the silence limit.
const SEND_BUFFERS: u64 = 8 * 1024 * 1024;
const SLOW_CONNECTION: u64 = 64 * 1024;

/// A submission, which runs in a task of the runtime of its own.
pub(super) struct Submission {
    pub(super) shared: Arc<Shared>,
    pub(super) base: Url,
    pub(super) request: Request,
    pub(super) plan: Arc<BodyPlan>,
    /// Whether the submission may wait for a slot after a refusal.
    pub(super) waits_for_slot: bool,
    /// When the request must have been sent. Far in the future without a deadline.
    pub(super) until: Instant,
    pub(super) has_deadline: bool,
    /// The journal entry of the submission, if the client has a journal.
    pub(super) intent: Option<Intent>,
    pub(super) in_flight: InFlight,
    /// The secrets of the request. The accepted task keeps them, too.
    pub(super) secrets: Arc<Learned>,
}

/// How an attempt failed.
pub(super) enum SubmitFailure {
    /// The service certainly did not process the submission, which may be sent again.
    Retryable(Error),
    /// The submission may have been billed, or another attempt would fail in the same way.
    Final(Error),
}

impl Submission {
    /// Sends the request once, if the journal permits it. `resends` is the number of attempts
    /// before this one.
    pub(super) async fn attempt(&self, resends: u32) -> Result<Task, SubmitFailure> {
        let Self { shared, base, request, plan, .. } = self;
        let service = &shared.service;
        let silence = service.silence;
        let progress = Arc::new(Progress::start());
        let path = path_of(base.path(), request, &service.model_prefix);
        let connection = service.connections.to_submit(base);
        let generated = generated::Client::new_with_client(
            base.as_str().trim_end_matches('/'),
            connection.http.clone(),
            Hooks {
                service: Arc::clone(service),
                operation: request.operation().name,
                path: path.clone(),
                resends,
            },
        );
        let started = || progress.last_frame_at();
        let until = || progress.last_frame_at() + silence + time_to_flush(plan, &progress);
        let body = StreamedBody::new(Arc::clone(plan), Arc::clone(&progress), self.permit());
        // Boxed because the future of the generated client is large.
        let sending = Box::pin(generated.submit(reqwest::Body::wrap(body)));
        let watched = service.connections.watch(&connection, started, until, sending);
        let sent = tokio::select! {
            // The deadline comes first, so that nothing is sent after it.
            biased;
            error = self.not_sent_in_time(&progress) => return Err(SubmitFailure::Final(error)),
            sent = watched => sent,
        };
        let sent = sent.ok_or_else(|| {
            let message = format!(
                "no response to the submission: no data from the service for {} s",
                silence.as_secs_f32()
            );
            broken_off(Error::new(ErrorKind::Network, message), &progress)
        })?;
        let response = read(sent, silence).await.map_err(|error| no_response(error, &progress))?;
        if matches!(response.ending, Ending::TimedOut) {
            service.connections.abandon(&connection);
        }
        let redaction = Redaction::of_request(&service.secrets, request);
        service.record(|recorded_at| {
            let operation = Some(request.operation().name);
            Recording::new(operation, &path, Some(request), &response, &redaction, recorded_at)
        });
        if response.status.is_success() {
            self.accepted(&response, &redaction).map_err(SubmitFailure::Final)
        } else {
            Err(self.refusal(&response, &redaction))
        }
    }

    /// If the body is not sent completely at the deadline, stops sending it and returns the error.
    /// The service can then never accept the submission. Otherwise, this never returns: the
    /// submission may be billed, so only its response can end it.
    async fn not_sent_in_time(&self, progress: &Progress) -> Error {
        time::sleep_until(self.until).await;
        if !progress.stop() {
            std::future::pending::<()>().await;
        }
        Error::new(ErrorKind::Deadline, "the request was not sent before its deadline")
            .with_advice("nothing was billed; check the network, or allow more time")
            .with_function("SubmitOptions::deadline")
    }

    /// Returns the function that asks the journal to permit an attempt.
    fn permit(&self) -> Option<Permit> {
        let journal = Arc::clone(self.shared.settings.journal.as_ref()?);
        let intent = self.intent.clone()?;
        Some(Box::new(move || {
            let permitted = journal::caught(|| journal.permit(&intent)).flatten();
            permitted.map_err(|error| {
                Error::refused(error.into_reason())
                    .with_advice("nothing was billed; the client cancelled the attempt")
            })
        }))
    }

    /// Reads the response to an accepted submission. Finds the task even in a damaged response,
    /// because the task is billed.
    fn accepted(&self, response: &Response, redaction: &Redaction) -> Result<Task, Error> {
        if let Some(found) = find_task(response, &self.request, &self.base, redaction) {
            self.shared.has_answered.store(true, Relaxed);
            let task = found.task.clone().submitted(self.shared.service.clock.now());
            if !matches!(response.ending, Ending::Complete) {
                tracing::warn!(
                    task_id = task.id(),
                    "the submission response is truncated, but contains the task"
                );
            }
            let (read, findings) = found.response(redaction);
            self.shared.drift.report(findings, response.document.as_ref());
            let task = Task::resumed(Arc::clone(&self.shared), task);
            let submitted = Submitted {
                response: read,
                work: work_of(&self.request),
                accepted: Instant::now(),
                expects_event: self.in_flight.expects_event,
                _secrets: Arc::clone(&self.secrets),
            };
            return Ok(Task { submitted: Some(Arc::new(submitted)), ..task });
        }
        let status = response.status.as_u16();
        let (kind, message) = match &response.ending {
            Ending::Broken(_) | Ending::TimedOut => {
                (ErrorKind::Network, "ended before it contained a task")
            }
            Ending::TooLong => {
                (ErrorKind::Response, "is too large, and the part that was read contains no task")
            }
            Ending::Complete if response.document.is_none() => (ErrorKind::Response, "is not JSON"),
            Ending::Complete => (ErrorKind::Response, "contains no task"),
        };
        let message =
            format!("the service accepted the submission ({status}), but the response {message}");
        Err(unknown(Error::new(kind, message))
            .with_status(status)
            .with_request_id(response.request_id(redaction)))
    }

    /// Classifies a response without a success code.
    fn refusal(&self, response: &Response, redaction: &Redaction) -> SubmitFailure {
        let operation = Some(self.request.operation().name);
        let (error, meaning) =
            error_of(&self.shared, Purpose::Submission, operation, response, redaction);
        // A refusal with a polling URL contradicts itself: a task may exist and be billed, so the
        // client does not send the submission again.
        if meaning.submission == SubmissionEffect::Unknown || has_polling_url(response) {
            let candidate = find_task(response, &self.request, &self.base, redaction);
            return SubmitFailure::Final(match candidate {
                Some(found) => unknown(error).with_task(&found.task),
                None => unknown(error),
            });
        }
        let function =
            (meaning.kind == ErrorKind::RateLimited).then_some("ClientBuilder::max_active");
        let error = error
            .with_advice(format!("nothing was billed; {}", meaning.advice))
            .with_function(function);
        match meaning.submission {
            SubmissionEffect::Retried => SubmitFailure::Retryable(error),
            _ => SubmitFailure::Final(error),
        }
    }
}

/// Returns how long a slow connection may take to send the bytes that are still buffered.
fn time_to_flush(plan: &BodyPlan, progress: &Progress) -> Duration {
    if progress.all_frames_taken() {
        Duration::from_secs(plan.length.min(SEND_BUFFERS) / SLOW_CONNECTION)
    } else {
        Duration::ZERO
    }
}

/// Reads a response. The generated client returns different types for success and failure
/// responses.
async fn read(
    sent: Result<ResponseValue<ByteStream>, ClientError<()>>,
    silence: Duration,
) -> Result<Response, ClientError<()>> {
    let (status, headers, body) = match sent {
        Ok(response) => (response.status(), response.headers().clone(), response.into_inner()),
        Err(ClientError::UnexpectedResponse(response)) => {
            let (status, headers) = (response.status(), response.headers().clone());
            (status, headers, ByteStream::new(Box::pin(response.bytes_stream())))
        }
        Err(error) => return Err(error),
    };
    let deadline = Instant::now() + silence * LONGEST_RESPONSE;
    Ok(Response::read(status, headers, body.into_inner(), silence, deadline).await)
}

/// Classifies an attempt without a response.
fn no_response(error: ClientError<()>, progress: &Progress) -> SubmitFailure {
    // The body was not sent completely, so the service had no request to accept.
    if let Some(error) = progress.take_failure() {
        return SubmitFailure::Final(error);
    }
    match error {
        ClientError::CommunicationError(error) => http_failure(error, progress),
        other => {
            let message = format!("could not read the response: {other}");
            broken_off(Error::new(ErrorKind::Response, message), progress)
        }
    }
}

/// Classifies an error of the HTTP client.
fn http_failure(error: reqwest::Error, progress: &Progress) -> SubmitFailure {
    let host = error.url().map(|url| url.authority().to_owned()).unwrap_or_default();
    let (is_tls, is_retryable) = (is_tls_failure(&error), was_not_processed(&error));
    let (is_connect, is_builder) = (error.is_connect(), error.is_builder());
    let failure =
        |kind, message: String| Error::new(kind, message).with_source(error.without_url());
    if is_tls {
        let message = format!("could not establish a TLS connection to {host}");
        let advice = "nothing was billed; check the scheme and the port of the base URL, and that \
                      this machine trusts the certificate";
        return SubmitFailure::Final(failure(ErrorKind::Network, message).with_advice(advice));
    }
    if is_retryable {
        let message = if is_connect {
            format!("could not connect to {host}")
        } else {
            format!("{host} closed the connection before it processed the submission")
        };
        let advice = "nothing was billed; check the base URL and the network";
        return SubmitFailure::Retryable(failure(ErrorKind::Network, message).with_advice(advice));
    }
    if is_builder {
        let error = failure(ErrorKind::Settings, "could not build the request".to_owned());
        return SubmitFailure::Final(error.with_advice("nothing was sent"));
    }
    let message = "the connection broke during the submission".to_owned();
    broken_off(failure(ErrorKind::Network, message), progress)
}

/// Classifies an attempt that broke off. If the HTTP client did not take the whole body, the end of
/// the JSON document was never sent, and the service cannot accept and bill an incomplete document.
/// Otherwise, it is unknown whether the submission was billed.
fn broken_off(error: Error, progress: &Progress) -> SubmitFailure {
    SubmitFailure::Final(if progress.all_frames_taken() {
        unknown(error)
    } else {
        error.with_advice("nothing was billed; the request was not sent completely")
    })
}
