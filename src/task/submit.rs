//! Submits a request: validates it, waits for a slot, and sends it. The client sends a request
//! again only if the service certainly did not process it, because a second submission could be
//! billed a second time. The submission runs in its own task of the runtime, so that it completes
//! even if the caller is dropped.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    task::JoinError,
    time::{self, Instant},
};
use tracing::{Instrument, Span};

use super::{
    Shared, Task,
    exchange::{Submission, SubmitFailure},
    failures::unknown,
    options::SubmitOptions,
    slots::Slot,
    submissions::{InFlight, Outcome, OutcomeReceiver, accepted_task},
};
use crate::{
    Billing, Error, ErrorKind, Operation, Request,
    journal::{self, Account, Intent, JournalError, Origin, Step},
    retry::{Backoff, LONGEST_RETRY},
    telemetry,
    transport::{
        body::BodyPlan,
        middleware::{Purpose, Retry},
        service::Service,
    },
    values::NO_LIMIT,
};

/// How long the caller waits after the deadline for the response to a submission that the service
/// may be processing.
const GRACE: Duration = Duration::from_secs(5);

impl Shared {
    /// Validates a request, waits for a slot if it may, sends the request, and returns its task.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        request: Request,
        options: SubmitOptions,
        slot: Option<Slot>,
    ) -> Result<Task, Error> {
        let operation = request.operation().name;
        let span = telemetry::submit_span(operation);
        let submitting = async {
            let outcome = self.submit_request(request, options, slot, &span).await;
            let outcome = outcome.map_err(|error| error.with_operation(operation));
            match &outcome {
                Ok(_) => tracing::info!("submission accepted"),
                Err(error) => {
                    let billing_unknown = error.billing() == Billing::Unknown;
                    tracing::warn!(kind = ?error.kind(), billing_unknown, "submission failed");
                }
            }
            outcome
        };
        telemetry::run(span.clone(), submitting).await
    }

    async fn submit_request(
        self: &Arc<Self>,
        mut request: Request,
        SubmitOptions { deadline, origin, waits_for_slot }: SubmitOptions,
        slot: Option<Slot>,
        span: &Span,
    ) -> Result<Task, Error> {
        let deadline = deadline.or(self.settings.submit_deadline);
        let until = Instant::now() + deadline.unwrap_or(NO_LIMIT);
        let operation = request.operation();
        if !operation.submits {
            return Err(creates_no_task(operation));
        }
        let base = self.service.base_of(operation)?.clone();
        self.settings.webhook.fill(&mut request);
        let (request, plan, origin) = self.prepare(request, origin).await?;
        let slot = match slot {
            Some(slot) => slot,
            None if waits_for_slot => {
                let slot = time::timeout_at(until, self.slot(false)).await;
                slot.unwrap_or_else(|_| Err(self.slots.late()))?
            }
            None => self.slots.try_slot()?,
        };
        let journal = self.settings.journal.as_ref();
        let intent = journal.map(|_| {
            let account = Account::new(&base, self.service.key.as_bytes());
            Intent::new(operation.name, self.service.clock.now(), account, origin)
        });
        let in_flight = InFlight::new(&self.submissions, &request, intent.as_ref());
        let submission = Submission {
            shared: Arc::clone(self),
            secrets: Arc::new(self.service.secrets.learn(&request)),
            base,
            request,
            plan,
            waits_for_slot,
            until,
            has_deadline: deadline.is_some(),
            intent,
            in_flight,
        };
        let (caller, mut outcome) = OutcomeReceiver::new(&self.submissions);
        tokio::spawn(submission.run(slot, caller, span.clone()).instrument(span.clone()));
        match time::timeout_at(until + GRACE, &mut outcome.receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                let message = "the runtime shut down during the submission";
                Err(unknown(Error::new(ErrorKind::Network, message)))
            }
            Err(_) => Err(no_response()),
        }
    }

    /// Validates the request and plans its body.
    async fn prepare(
        &self,
        request: Request,
        origin: Origin,
    ) -> Result<(Request, Arc<BodyPlan>, Origin), Error> {
        let settings = &self.settings;
        let (validation, is_journaled) = (settings.validation, settings.journal.is_some());
        let is_heavy = request.is_heavy();
        let prepare = move || {
            request.check(validation)?;
            let plan = BodyPlan::new(&request).map_err(|error| {
                let message =
                    format!("could not read an image for {}: {error}", request.operation());
                Error::new(ErrorKind::File, message).with_advice("nothing was sent")
            })?;
            let origin = if is_journaled { origin.of_request(&request) } else { origin };
            Ok((request, Arc::new(plan), origin))
        };
        // Moving a small request to another thread would take longer than the rest of its
        // preparation.
        if !is_heavy {
            return prepare();
        }
        tokio::task::spawn_blocking(prepare).await.unwrap_or_else(|error| Err(not_prepared(error)))
    }
}

fn not_prepared(error: JoinError) -> Error {
    // If the work did not panic, tokio has cancelled it, which happens only if the runtime shuts
    // down.
    let (kind, message) = if error.is_panic() {
        (ErrorKind::Internal, "could not prepare the request")
    } else {
        (ErrorKind::Network, "the runtime shut down before the submission")
    };
    Error::new(kind, message).with_source(error).with_advice("nothing was sent")
}

fn creates_no_task(operation: &Operation) -> Error {
    Error::new(ErrorKind::Usage, format!("{operation} does not create tasks"))
        .with_advice("to poll a task, resume it")
        .with_function("Client::task")
}

/// The error for a key that another submission has taken in the meantime.
fn key_in_use() -> Error {
    Error::new(ErrorKind::InProgress, "another submission has the key")
        .with_advice("nothing was sent")
}

fn no_response() -> Error {
    let message = format!("no response to the submission {} s after its deadline", GRACE.as_secs());
    let advice =
        "the submission continues; if the service accepts it, its task can still be received";
    unknown(Error::new(ErrorKind::Deadline, message))
        .with_advice(advice)
        .with_function("Client::drain")
}

impl Submission {
    /// Runs the submission and reports its outcome to the caller. If the caller is gone, keeps the
    /// task.
    async fn run(self, slot: Slot, mut caller: oneshot::Sender<Outcome>, span: Span) {
        let mut slot = Some(slot);
        let outcome = self.send_journalled(&mut slot, &mut caller).await;
        let Self { shared, in_flight, request, .. } = self;
        let accepted = outcome.as_ref().map(Task::reference);
        telemetry::submitted(&span, request.operation().name, accepted);
        if let Some(task) = accepted_task(&outcome) {
            if let Some(slot) = slot.take() {
                let same = outcome.as_ref().map(|task| Arc::clone(&task.reference));
                slot.hold(same.unwrap_or_else(|_| Arc::new(task.clone())));
            }
            in_flight.accepted(task);
        }
        let is_unknown = outcome.as_ref().is_err_and(|error| error.billing() == Billing::Unknown);
        match slot {
            Some(slot) if is_unknown => slot.lose(),
            slot => drop(slot),
        }
        // The shared state is dropped before the caller receives the outcome. If this was the last
        // reference, the journal is now closed, and the caller can open it again.
        drop(shared);
        if let Err(outcome) = caller.send(outcome) {
            in_flight.submissions.keep(&outcome);
        }
    }

    /// Writes the intent to the journal, sends the request, and records the outcome.
    async fn send_journalled(
        &self,
        slot: &mut Option<Slot>,
        caller: &mut oneshot::Sender<Outcome>,
    ) -> Outcome {
        let (Some(journal), Some(intent)) = (&self.shared.settings.journal, &self.intent) else {
            return self.send(slot, caller).await;
        };
        match intent.key() {
            Some(key) => {
                let intended = journal::call(|| journal.intend_once(intent, key)).await;
                if intended.map_err(not_written)?.is_some() {
                    return Err(key_in_use());
                }
            }
            None => journal::call(|| journal.intend(intent)).await.map_err(not_written)?,
        }
        let sent = self.send(slot, caller).await;
        let step = match &sent {
            Ok(task) => Step::Accepted(task.reference().clone()),
            Err(error) if error.billing() == Billing::NotBilled => Step::NotBilled,
            // The record stays in the journal as a submission with unknown billing.
            Err(_) => Step::Lost,
        };
        let written = journal::call(|| journal.advance(intent.id(), &step)).await;
        if journal.handles_outages()
            && let Err(error) = journal::call(|| journal.ended(intent, sent.as_ref().err())).await
        {
            tracing::warn!(%error, "the journal could not note how a submission ended");
        }
        match (sent, written) {
            (Ok(task), Ok(())) => {
                let reference = Arc::unwrap_or_clone(task.reference).of_submission(intent.id());
                Ok(Task { reference: Arc::new(reference), ..task })
            }
            (Ok(task), Err(error)) => {
                let message = "the service accepted the task, but the journal could not record it";
                Err(error.into_error(message).with_task(&task.reference).with_advice(
                    "the task continues and is billed; keep its reference to resume it",
                ))
            }
            (Err(refused), written) => {
                if let Err(error) = written {
                    tracing::warn!(%error, "could not write to the journal how it failed");
                }
                Err(refused)
            }
        }
    }

    /// Sends the request, and retries it as long as the service certainly has not processed it.
    async fn send(
        &self,
        slot: &mut Option<Slot>,
        caller: &mut oneshot::Sender<Outcome>,
    ) -> Outcome {
        let (mut attempt, mut backoff) = (1, Backoff::of_retries());
        loop {
            let error = match self.attempt(attempt - 1).await {
                Ok(task) => return Ok(task),
                Err(SubmitFailure::Final(error)) => return Err(error),
                Err(SubmitFailure::Retryable(error)) => error,
            };
            // `Retry-After: 0` is ignored, because the client must not repeat attempts without a
            // delay.
            let retry_after = error.retry_after().filter(|wait| !wait.is_zero());
            let Service { random, retry: policy, .. } = &*self.shared.service;
            let is_long = retry_after.is_some_and(|wait| wait > policy.longest_retry_after);
            let is_busy = error.kind() == ErrorKind::RateLimited;
            if is_busy {
                self.shared.slots.refused();
            }
            // If the submission has a deadline, only time limits how often it is sent to a service
            // that is busy.
            let attempts = (!is_busy || !self.has_deadline).then_some(policy.attempts);
            let may_wait = is_busy && self.waits_for_slot && !is_long && attempts != Some(attempt);
            // This takes no retry from the budget, because each task that ends allows only one
            // attempt.
            if may_wait && self.shared.slots.are_exceeded() {
                if !self.wait_for_turn(slot, caller).await {
                    return Err(error);
                }
                attempt += 1;
                continue;
            }
            let has_retry = self.shared.submission_retries.take();
            let is_last = !has_retry || attempts == Some(attempt);
            if attempts.is_some() && (is_last || is_long) {
                return Err(error);
            }
            let pause = if has_retry { backoff.pause() } else { LONGEST_RETRY };
            let wait = retry_after.map_or_else(|| random.spread(pause), |wait| random.after(wait));
            // A service may ask for more than an `Instant` can hold.
            let wait = wait.min(NO_LIMIT);
            if Instant::now() + wait >= self.until {
                return Err(error);
            }
            let wait_ms = wait.as_millis() as u64;
            tracing::debug!(attempt, wait_ms, kind = ?error.kind(), "retrying the submission");
            self.shared.service.middlewares.announce(&Retry {
                purpose: Purpose::Submission,
                operation: Some(self.request.operation().name),
                task_id: None,
                failures: attempt,
                attempts,
                wait,
                error: &error,
            });
            // Do not retry for a caller that is gone: the service would bill a task that nobody
            // wants.
            tokio::select! {
                () = time::sleep(wait) => {}
                () = caller.closed() => return Err(error),
                () = self.shared.submissions.retries_stopped() => return Err(error),
            }
            attempt += 1;
            // The service may have accepted other submissions in the meantime, which fill the slots
            // again.
            if may_wait
                && self.shared.slots.are_exceeded()
                && !self.wait_for_turn(slot, caller).await
            {
                return Err(error);
            }
        }
    }

    /// Gives back the slot of a refused submission, and waits for a free slot. Returns `false` if
    /// the submission should fail instead.
    async fn wait_for_turn(
        &self,
        slot: &mut Option<Slot>,
        caller: &mut oneshot::Sender<Outcome>,
    ) -> bool {
        tracing::debug!("a refused submission waits for a slot");
        *slot = None;
        let free = time::timeout_at(self.until, self.shared.slot(true));
        *slot = tokio::select! {
            slot = free => slot.ok().and_then(Result::ok),
            () = caller.closed() => None,
        };
        slot.is_some()
    }
}

/// The error for a submission that the journal could not record. The client did not send it.
fn not_written(error: JournalError) -> Error {
    error
        .into_error("could not write the submission to the journal")
        .with_advice("nothing was sent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_while_a_request_is_prepared_is_not_the_error_of_a_file() {
        let panicked = tokio::task::spawn_blocking(|| panic!("a bug")).await.unwrap_err();
        let error = not_prepared(panicked);
        assert_eq!((error.kind(), error.billing()), (ErrorKind::Internal, Billing::NotBilled));
        let cancelled = tokio::spawn(std::future::pending::<()>());
        cancelled.abort();
        let error = not_prepared(cancelled.await.unwrap_err());
        assert_eq!((error.kind(), error.billing()), (ErrorKind::Network, Billing::NotBilled));
    }
}
