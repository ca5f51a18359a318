//! Submits a request: validates it, waits for a slot, and sends it. It is sent again only if the
//! service certainly did not process it. The submission runs in its own task, so that it completes
//! even if the caller is dropped.

use std::sync::{Arc, OnceLock};

use tokio::{sync::OwnedSemaphorePermit, time};
use tracing::{Instrument, Span};
use url::Url;

use super::{
    Shared, SubmissionResponse, Task, TaskRef,
    acceptance::find_task,
    caller::{self, Caller, Deadline, accepted_task},
    exchange::exchange,
    poll::{PollError, poll},
    refusal::{SubmitFailure, no_response, refusal, unknown},
    slots::Slots,
    submissions::InFlight,
};
use crate::{
    Billing, Error, ErrorKind, Request,
    journal::{self, Intent, JournalError, Origin, Step},
    retry::backoff::Backoff,
    telemetry::{metrics, spans},
    transport::{
        body::{BodyPlan, Permit},
        middleware::{Purpose, Retry},
        redaction::Redaction,
        response::{Ending, Response},
        service::Service,
    },
};

impl Shared {
    /// Validates a request, waits for a slot if it may, sends the request, and returns its task.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        request: Request,
        waits_for_slot: bool,
        origin: Origin,
    ) -> Result<Task, Error> {
        let span = spans::submit(request.operation().name);
        spans::run(span.clone(), async {
            let outcome = self.submit_request(request, waits_for_slot, origin, &span).await;
            match &outcome {
                Ok(_) => tracing::info!("submission accepted"),
                Err(error) => {
                    let billing_unknown = error.may_have_been_billed();
                    tracing::warn!(kind = ?error.kind(), billing_unknown, "submission failed");
                }
            }
            outcome
        })
        .await
    }

    async fn submit_request(
        self: &Arc<Self>,
        mut request: Request,
        waits_for_slot: bool,
        origin: Origin,
        span: &Span,
    ) -> Result<Task, Error> {
        let operation = request.operation();
        if !operation.submits {
            let message = format!("{operation} does not create tasks");
            return Err(Error::new(ErrorKind::Usage, message)
                .with_advice("to poll a task, resume it")
                .with_function("Client::task")
                .with_operation(operation.name));
        }
        let base = self.service.base_of(operation)?;
        self.settings.webhook.fill(&mut request);
        let (request, plan, origin) = self.prepare(request, origin).await?;
        let deadline = Deadline::new(self.settings.submit_deadline);
        let slot = if waits_for_slot {
            deadline.limit(self.slot()).await.unwrap_or_else(|| Err(deadline.no_slot()))
        } else {
            self.slots.as_ref().map(Slots::try_slot).transpose()
        };
        let slot = slot.map_err(|error| error.with_operation(operation.name))?;
        let submission = self.submission(request, plan, slot, base.clone(), origin, span);
        self.service.secrets.learn(&submission.request);
        let (caller, outcome) = caller::connect(&self.submissions);
        tokio::spawn(submission.run(caller).instrument(span.clone()));
        let error = match deadline.limit(outcome).await {
            Some(Ok(outcome)) => return outcome,
            Some(Err(_)) => {
                let message = "the runtime shut down during the submission";
                unknown(Error::new(ErrorKind::Network, message))
            }
            None => deadline.no_response(),
        };
        Err(error.with_operation(operation.name))
    }

    /// Waits for a free slot, if their number is limited.
    async fn slot(self: &Arc<Self>) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let Some(slots) = &self.slots else { return Ok(None) };
        slots.slot(|| self.poll_held(slots)).await
    }

    /// Polls the tasks that hold a slot and have no active wait.
    async fn poll_held(self: &Arc<Self>, slots: &Slots) -> Result<(), Error> {
        let Ok(_guard) = slots.polling.try_lock() else { return Ok(()) };
        let mut failures = Vec::new();
        for task in slots.held().iter().filter(|task| !self.waits.has(task)) {
            if let Err(PollError::Permanent(error)) =
                poll(self, task, &OnceLock::new(), self.settings.poll_deadline, 0).await
            {
                failures.push(error);
            }
        }
        match failures.pop() {
            Some(error) if failures.len() + 1 == slots.capacity => Err(Error::new(
                ErrorKind::RateLimited,
                "all slots are held by tasks that cannot be polled",
            )
            .with_advice("nothing was sent; fix the cause, or allow more active tasks")
            .with_function("ClientBuilder::max_active_tasks")
            .with_source(error)),
            _ => Ok(()),
        }
    }

    fn submission(
        self: &Arc<Self>,
        request: Request,
        plan: Arc<BodyPlan>,
        slot: Option<OwnedSemaphorePermit>,
        base: Url,
        origin: Origin,
        span: &Span,
    ) -> Submission {
        let journal = self.settings.journal.as_ref();
        let now = || self.service.clock.now();
        let intent = journal.map(|_| Intent::new(request.operation().name, now(), origin));
        let intent_id = intent.as_ref().map(|intent| intent.id().to_owned());
        let in_flight = InFlight::new(&self.submissions, request.asks_for_webhook(), intent_id);
        let (shared, span) = (Arc::clone(self), span.clone());
        Submission { shared, base, request, plan, slot, intent, in_flight, span }
    }

    /// Validates the request and plans its body.
    async fn prepare(&self, request: Request, origin: Origin) -> Result<Prepared, Error> {
        let settings = &self.settings;
        let (validation, is_journaled) = (settings.validation, settings.journal.is_some());
        let is_heavy = request.is_heavy();
        let prepare = move || {
            let (request, plan) = prepare(request, validation)?;
            let digest = is_journaled.then(|| request.digest().ok()).flatten();
            Ok((request, plan, origin.of_request(digest)))
        };
        // Moving to another thread would cost more than the rest of a small submission.
        if !is_heavy {
            return prepare();
        }
        tokio::task::spawn_blocking(prepare).await.unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::File, "could not prepare the request").with_source(error))
        })
    }
}

/// A request, its body, and what it is for.
type Prepared = (Request, Arc<BodyPlan>, Origin);

fn prepare(request: Request, validation: bool) -> Result<(Request, Arc<BodyPlan>), Error> {
    if validation {
        request.validate()?
    } else {
        request.validate_form()?
    }
    let plan = BodyPlan::new(&request).map_err(|error| {
        let operation = request.operation();
        Error::new(ErrorKind::File, format!("could not read an image for {operation}: {error}"))
            .with_advice("nothing was sent")
            .with_operation(operation.name)
    })?;
    Ok((request, Arc::new(plan)))
}

/// A submission in its own task.
struct Submission {
    shared: Arc<Shared>,
    base: Url,
    request: Request,
    plan: Arc<BodyPlan>,
    slot: Option<OwnedSemaphorePermit>,
    /// The journal entry of the submission, if the client has a journal.
    intent: Option<Intent>,
    in_flight: InFlight,
    /// The span of the whole submission, which ends after the caller has gone.
    span: Span,
}

/// A submission that the service accepted.
struct Accepted {
    task: TaskRef,
    response: Option<Arc<SubmissionResponse>>,
}

impl Submission {
    /// Runs the submission and reports its outcome to the caller.
    async fn run(self, mut caller: Caller) {
        let outcome = self.send_journalled(&mut caller).await;
        let Self { shared, slot, in_flight, request, span, .. } = self;
        let counted = outcome.as_ref().map(|accepted| &accepted.task);
        metrics::submission(request.operation().name, counted);
        if let Some(task) = accepted_task(outcome.as_ref().map(|accepted| &accepted.task)) {
            spans::accepted(&span, task);
            if let (Some(slots), Some(slot)) = (&shared.slots, slot) {
                slots.hold(task, slot);
            }
            in_flight.accepted(task);
        }
        let outcome = match outcome {
            Ok(Accepted { task, response }) => Ok(Task { response, ..Task::resumed(shared, task) }),
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
        let (mut attempt, mut backoff) = (1, Backoff::of_retries());
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
            let pause = backoff.pause();
            let wait = retry_after.map_or_else(|| random.spread(pause), |wait| random.after(wait));
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
        if response.status.is_success() {
            Ok(response)
        } else {
            Err(refusal(shared, base, request, &response))
        }
    }

    /// Reads the response to an accepted submission. Finds the task even in a damaged response.
    fn accepted(&self, response: &Response) -> Result<Accepted, Error> {
        let service = &self.shared.service;
        let redaction = Redaction::of_request(&service.secrets, &self.request);
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
