//! Validates a request, waits for a slot, and starts the submission.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tracing::{Instrument, Span};
use url::Url;

use super::{
    Shared, Task, caller,
    deadline::Deadline,
    poll::{PollError, poll},
    refusal::unknown,
    slots::Slots,
    submission::Submission,
    submissions::InFlight,
};
use crate::{
    Error, ErrorKind, Request,
    journal::{Intent, Origin},
    telemetry::spans,
    transport::body::BodyPlan,
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
            return Err(Error::new(ErrorKind::Settings, message)
                .with_advice("to poll a task, resume it")
                .with_function("Client::task")
                .with_operation(operation.name));
        }
        let base = self.service.base_of(operation)?;
        self.settings.webhook.fill(&mut request);
        let (request, plan, origin) = self.prepare(request, origin).await?;
        let deadline = Deadline::new(self.settings.submit_deadline);
        let slot = match waits_for_slot {
            true => deadline.limit(self.slot()).await.unwrap_or_else(|| Err(deadline.no_slot())),
            false => self.slots.as_ref().map(Slots::try_slot).transpose(),
        };
        let slot = slot.map_err(|error| error.with_operation(operation.name))?;
        let submission = self.submission(request, plan, slot, base.clone(), origin, span);
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
                poll(self, task, self.settings.poll_deadline, 0).await
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
        // A hop to another thread costs more than the rest of a small submission.
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
    match validation {
        true => request.validate()?,
        false => request.validate_form()?,
    }
    let plan = BodyPlan::new(&request).map_err(|error| {
        let operation = request.operation();
        Error::new(ErrorKind::File, format!("could not read an image for {operation}: {error}"))
            .with_advice("nothing was sent")
            .with_operation(operation.name)
    })?;
    Ok((request, Arc::new(plan)))
}
