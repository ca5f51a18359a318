//! Sends a submission, and sends it again only if the service certainly did not process it. The
//! submission runs in its own task, so that it completes even if the caller is dropped.

use std::sync::Arc;

use tokio::{sync::OwnedSemaphorePermit, time};
use tracing::Span;
use url::Url;

use super::{
    Shared, SubmissionResponse, Task, TaskRef,
    acceptance::find_task,
    caller::Caller,
    exchange::exchange,
    refusal::{SubmitFailure, no_response, refusal, unknown},
    submissions::InFlight,
};
use crate::{
    Billing, Error, ErrorKind, Request,
    journal::{self, Intent, JournalError, Step},
    telemetry::{metrics, spans},
    transport::{
        body::{BodyPlan, Permit},
        middleware::{Purpose, Retry},
        redaction::Redaction,
        response::{Ending, Response},
        retry,
        service::Service,
    },
};

pub(super) struct Submission {
    pub(super) shared: Arc<Shared>,
    pub(super) base: Url,
    pub(super) request: Request,
    pub(super) plan: Arc<BodyPlan>,
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// The journal entry of the submission, if the client has a journal.
    pub(super) intent: Option<Intent>,
    pub(super) in_flight: InFlight,
    /// The span of the whole submission, which ends after the caller has gone.
    pub(super) span: Span,
}

/// A submission that the service accepted.
struct Accepted {
    task: TaskRef,
    response: Option<Arc<SubmissionResponse>>,
}

impl Submission {
    /// Runs the submission and reports its outcome to the caller.
    pub(super) async fn run(self, mut caller: Caller) {
        let outcome = self.send_journalled(&mut caller).await;
        let Self { shared, slot, in_flight, request, span, .. } = self;
        let counted = outcome.as_ref().map(|accepted| &accepted.task);
        metrics::submission(request.operation().name, counted);
        if let Some(task) = accepted_task(&outcome) {
            spans::accepted(&span, task);
            if let (Some(slots), Some(slot)) = (&shared.slots, slot) {
                slots.hold(task, slot);
            }
            in_flight.accepted(task);
        }
        let outcome = match outcome {
            Ok(Accepted { task, response }) => {
                Ok(Task { shared, reference: Arc::new(task), response, ready_since: None })
            }
            Err(error) => {
                // Drop it before reporting the error. If it is the last one, this closes
                // the journal, which the caller may then open again.
                drop(shared);
                Err(error.with_operation(request.operation().name))
            }
        };
        caller.report(outcome);
    }

    /// Writes the intent to the journal, sends the request, and records the outcome.
    async fn send_journalled(&self, caller: &mut Caller) -> Result<Accepted, Error> {
        let (Some(journal), Some(intent)) = (&self.shared.settings.journal, &self.intent) else {
            return self.send(caller).await;
        };
        journal::call(|| journal.intend(intent)).await.map_err(not_written)?;
        let sent = self.send(caller).await;
        let step = match &sent {
            Ok(Accepted { task, .. }) => Step::Accepted(task.clone()),
            Err(error) if error.billing() == Billing::NotBilled => Step::NotBilled,
            // The record stays in the journal as a submission with unknown billing.
            Err(_) => return sent,
        };
        let written = journal::call(|| journal.advance(intent.id(), &step)).await;
        match (sent, written) {
            (Ok(Accepted { task, .. }), Err(error)) => {
                let message = "the service accepted the task, but the journal could not record it";
                Err(error.into_error(message).with_task(&task).with_advice(
                    "the task continues and is billed; keep its reference to resume it",
                ))
            }
            (Ok(Accepted { task, response }), Ok(())) => {
                Ok(Accepted { task: task.of_submission(intent.id()), response })
            }
            (Err(refused), written) => {
                if let Err(error) = written {
                    tracing::warn!(%error, "could not remove a submission from the journal");
                }
                Err(refused)
            }
        }
    }

    /// Sends the request until the service has processed it, or may have.
    async fn send(&self, caller: &mut Caller) -> Result<Accepted, Error> {
        let mut attempt = 1;
        loop {
            let (error, retry_after) = match self.attempt(attempt).await {
                Ok(response) => return self.accepted(&response),
                Err(SubmitFailure::Failed(error)) => return Err(error),
                Err(SubmitFailure::Retryable { error, wait }) => (error, wait),
            };
            // `Retry-After: 0` is ignored, because the client must not repeat attempts without a
            // delay.
            let retry_after = retry_after.filter(|wait| !wait.is_zero());
            let Service { random, retry: policy, .. } = &*self.shared.service;
            if attempt == policy.attempts
                || retry_after.is_some_and(|wait| wait > policy.longest_retry_after)
                || !self.shared.submission_retries.take()
            {
                return Err(error);
            }
            let wait = retry_after
                .map_or_else(|| retry::delay(attempt, random), |wait| random.after(wait));
            let wait_ms = wait.as_millis() as u64;
            tracing::debug!(attempt, wait_ms, kind = ?error.kind(), "retrying the submission");
            self.shared.service.middlewares.announce(&Retry {
                purpose: Purpose::Submission,
                operation: Some(self.request.operation().name),
                task_id: None,
                failures: attempt,
                attempts: Some(policy.attempts),
                wait,
                error: &error,
            });
            // Do not retry for a caller that is gone: a new task would be billed without being
            // wanted.
            tokio::select! {
                () = time::sleep(wait) => {}
                () = caller.gone() => return Err(error),
                () = self.shared.submissions.retries_stopped() => return Err(error),
            }
            attempt += 1;
        }
    }

    /// Returns the call that asks the journal to permit an attempt.
    fn permit(&self) -> Option<Permit> {
        let journal = Arc::clone(self.shared.settings.journal.as_ref()?);
        let intent = self.intent.clone()?;
        Some(Box::new(move || {
            let permitted = journal::caught(|| journal.permit(&intent)).flatten();
            permitted.map_err(JournalError::into_reason)
        }))
    }

    async fn attempt(&self, attempt: u32) -> Result<Response, SubmitFailure> {
        let Self { shared, base, request, plan, .. } = self;
        let exchanged = exchange(shared, base, request, plan, self.permit(), attempt - 1).await;
        let response = exchanged.map_err(no_response)?;
        match response.status.is_success() {
            true => Ok(response),
            false => Err(refusal(shared, base, request, &response)),
        }
    }

    /// Reads the response to an accepted submission. Finds the task even in a damaged response.
    fn accepted(&self, response: &Response) -> Result<Accepted, Error> {
        let service = &self.shared.service;
        let redaction = Redaction::of_request(service, &self.request);
        if let Some(found) = find_task(response, self.request.operation(), &self.base, &redaction) {
            let task = found.task.clone().submitted(service.clock.now());
            if !matches!(response.ending, Ending::Complete) {
                tracing::warn!(
                    task_id = task.id(),
                    "the submission response is truncated, but contains the task"
                );
            }
            let (read, findings) = found.response(&redaction);
            self.shared.drift.report(findings.with_type_of(response));
            return Ok(Accepted { task, response: read.map(Arc::new) });
        }
        let status = response.status.as_u16();
        let (kind, message) = match &response.ending {
            Ending::Broken(_) | Ending::Silent | Ending::TooSlow => {
                (ErrorKind::Network, "ended before it contained a task")
            }
            Ending::TooLong => {
                (ErrorKind::Response, "is too large, and the part that was read contains no task")
            }
            Ending::Complete if response.document().is_none() => {
                (ErrorKind::Response, "is not JSON")
            }
            Ending::Complete => (ErrorKind::Response, "contains no task"),
        };
        let message =
            format!("the service accepted the submission ({status}), but the response {message}");
        Err(unknown(Error::new(kind, message))
            .with_status(status)
            .with_request_id(response.request_id(&redaction)))
    }
}

/// Nothing was sent.
fn not_written(error: JournalError) -> Error {
    error
        .into_error("could not write the submission to the journal")
        .with_advice("nothing was sent")
}

/// Returns the accepted task, even if the journal could not record it.
fn accepted_task(outcome: &Result<Accepted, Error>) -> Option<&TaskRef> {
    match outcome {
        Ok(Accepted { task, .. }) => Some(task),
        Err(error) => match error.billing() {
            Billing::Accepted(task) => Some(task),
            _ => None,
        },
    }
}
