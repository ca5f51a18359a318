//! Validates a request, waits for a slot, and starts the submission.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tracing::{Instrument, Span};
use url::Url;

use super::{
    Task, caller, deadline::Deadline, refusal::unknown, submission::Submission,
    submissions::InFlight,
};
use crate::{
    Client, Error, ErrorKind, Request, Submit,
    journal::{Intent, Origin},
    telemetry::spans,
    transport::body::BodyPlan,
};

impl Client {
    /// Submits a request and returns its task once the service has accepted it.
    ///
    /// This is the only method that sends the POST, apart from [`try_submit`](Self::try_submit) and
    /// [`submit_for`](Self::submit_for).
    ///
    /// Dropping the future does not cancel the submission, which may already be billed. The
    /// submission completes in its own task, and [`drain`](Self::drain) returns the accepted task.
    /// If the service did not process the submission, the client does not retry it for a dropped
    /// future. The same applies after
    /// [`ClientBuilder::submit_deadline`](crate::ClientBuilder::submit_deadline).
    ///
    /// # Errors
    ///
    /// [`Error::billing`] returns whether the submission was billed.
    ///
    /// - [`Validation`](ErrorKind::Validation), [`Auth`](ErrorKind::Auth),
    ///   [`Payment`](ErrorKind::Payment), [`RateLimited`](ErrorKind::RateLimited),
    ///   [`File`](ErrorKind::File), [`Settings`](ErrorKind::Settings): usually nothing was billed.
    /// - [`Network`](ErrorKind::Network), [`Service`](ErrorKind::Service),
    ///   [`Reply`](ErrorKind::Reply): depends on when and how the submission failed.
    pub async fn submit(&self, request: impl Submit) -> Result<Task, Error> {
        self.submit_in_span(request.into_request(), true, Origin::default()).await
    }

    /// Submits a request like [`submit`](Self::submit), but fails instead of waiting for a slot if
    /// [`max_active_tasks`](crate::ClientBuilder::max_active_tasks) tasks are active.
    ///
    /// # Errors
    ///
    /// Kind [`RateLimited`](ErrorKind::RateLimited) without a status code: no slot is free, and
    /// nothing was sent. Otherwise the same errors as [`submit`](Self::submit).
    pub async fn try_submit(&self, request: impl Submit) -> Result<Task, Error> {
        self.submit_in_span(request.into_request(), false, Origin::default()).await
    }

    /// Submits a request like [`submit`](Self::submit), and says what for: a text, which becomes
    /// the label, or an [`Origin`].
    ///
    /// The origin is written to the [journal](crate::journal) and never sent. After a crash,
    /// [`resume`](Self::resume) returns it. Without a journal it has no effect.
    ///
    /// ```
    /// # use imagekiln::{Client, Error, journal::Origin, types::Gen2Pro};
    /// # async fn submit(client: Client) -> Result<(), Error> {
    /// let request = Gen2Pro::new("a red fox in the snow").seed(7);
    /// let task = client.submit_for(request, Origin::new("fox-7").target("fox-7.png")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The same errors as [`submit`](Self::submit).
    pub async fn submit_for(
        &self,
        request: impl Submit,
        origin: impl Into<Origin>,
    ) -> Result<Task, Error> {
        self.submit_in_span(request.into_request(), true, origin.into()).await
    }

    async fn submit_in_span(
        &self,
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
        &self,
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
        let base = self.base_of(operation)?;
        self.tasks().settings.webhook.fill(&mut request);
        let (request, plan, origin) = self.prepare(request, origin).await?;
        let deadline = Deadline::new(self.tasks().settings.submit_deadline);
        let slot = match waits_for_slot {
            true => deadline.limit(self.slot()).await.unwrap_or_else(|| Err(deadline.no_slot())),
            false => self.try_slot(),
        };
        let slot = slot.map_err(|error| error.with_operation(operation.name))?;
        let submission = self.submission(request, plan, slot, base.clone(), origin, span);
        let (caller, outcome) = caller::connect(&self.tasks().submissions);
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

    fn submission(
        &self,
        request: Request,
        plan: Arc<BodyPlan>,
        slot: Option<OwnedSemaphorePermit>,
        base: Url,
        origin: Origin,
        span: &Span,
    ) -> Submission {
        let journal = self.tasks().settings.journal.as_ref();
        let now = || self.service().clock.now();
        let intent = journal.map(|_| Intent::new(request.operation().name, now(), origin));
        let intent_id = intent.as_ref().map(|intent| intent.id().to_owned());
        let in_flight = InFlight::new(self, request.asks_for_webhook(), intent_id);
        let (client, span) = (self.clone(), span.clone());
        Submission { client, base, request, plan, slot, intent, in_flight, span }
    }

    /// Validates the request and plans its body.
    async fn prepare(&self, request: Request, origin: Origin) -> Result<Prepared, Error> {
        let settings = &self.tasks().settings;
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
