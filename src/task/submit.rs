//! From a request to a submission under way: the request is checked, and waits for a slot.

use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::{Instrument, Span, field};
use url::Url;

use super::{Task, refusal::unknown, submission::Submission, submissions::UnderWay};
use crate::{
    Client, Error, ErrorKind, Operation, Region, Request, Submit, client::no_regional_address,
    journal::Intent, transport::body::BodyPlan,
};

impl Client {
    /// Submits a request: the POST happens here, and only here. Returns once the service has
    /// accepted the task.
    ///
    /// Dropping the future does not cut the submission, which may be paid already: it comes to its
    /// end in a task of its own, and [`drain`](Self::drain) returns what was accepted. A submission
    /// that the service did not take is not sent again then.
    ///
    /// # Errors
    ///
    /// Kinds [`Validation`](ErrorKind::Validation), [`Auth`](ErrorKind::Auth),
    /// [`Payment`](ErrorKind::Payment), [`RateLimited`](ErrorKind::RateLimited),
    /// [`File`](ErrorKind::File), [`Settings`](ErrorKind::Settings): usually nothing was paid.
    /// Kinds [`Network`](ErrorKind::Network), [`Service`](ErrorKind::Service),
    /// [`Reply`](ErrorKind::Reply): it depends. [`Error::billing`] tells which it is.
    pub async fn submit(&self, request: impl Submit) -> Result<Task, Error> {
        self.submit_in_span(request.into_request(), true).await
    }

    /// As [`submit`](Self::submit), but does not wait for a slot if
    /// [`max_active_tasks`](crate::ClientBuilder::max_active_tasks) are active.
    ///
    /// # Errors
    ///
    /// Kind [`RateLimited`](ErrorKind::RateLimited) without a status code: no slot is free, and
    /// nothing was sent. Otherwise as [`submit`](Self::submit).
    pub async fn try_submit(&self, request: impl Submit) -> Result<Task, Error> {
        self.submit_in_span(request.into_request(), false).await
    }

    async fn submit_in_span(&self, request: Request, waits_for_slot: bool) -> Result<Task, Error> {
        let operation = request.operation();
        let span = tracing::info_span!(
            "submit",
            operation = operation.name,
            task_id = field::Empty,
            attempt = field::Empty,
            status = field::Empty
        );
        async {
            let outcome = self.submit_request(request, waits_for_slot).await;
            match &outcome {
                Ok(task) => {
                    Span::current().record("task_id", task.id());
                    tracing::info!("accepted");
                }
                Err(error) => {
                    let billing_unknown = error.may_have_been_billed();
                    tracing::warn!(kind = ?error.kind(), billing_unknown, "not accepted");
                }
            }
            outcome
        }
        .instrument(span)
        .await
    }

    async fn submit_request(
        &self,
        mut request: Request,
        waits_for_slot: bool,
    ) -> Result<Task, Error> {
        let operation = request.operation();
        if !operation.submits {
            return Err(Error::new(
                ErrorKind::Settings,
                format!("{operation} does not submit anything"),
            )
            .with_advice("poll a task with Client::task or Client::task_by_id")
            .with_operation(operation.name));
        }
        let base = self.base_of(operation)?;
        self.0.webhook.fill(&mut request);
        let (request, plan) = self.prepare(request).await?;
        let slot = match waits_for_slot {
            true => self.slot().await,
            false => self.try_slot(),
        };
        let slot = slot.map_err(|error| error.with_operation(operation.name))?;
        let intent =
            self.0.journal.as_ref().map(|_| Intent::new(operation.name, self.0.clock.now()));
        let intent_id = intent.as_ref().map(|intent| intent.id().to_owned());
        let under_way = UnderWay::new(self, request.asks_for_webhook(), intent_id);
        let (client, base) = (self.clone(), base.clone());
        let submission = Submission { client, base, request, plan, slot, intent, under_way };
        let (caller, outcome) = oneshot::channel();
        tokio::spawn(submission.run(caller).in_current_span());
        outcome.await.unwrap_or_else(|_| {
            let error =
                Error::new(ErrorKind::Network, "the submission was cut by the end of the runtime");
            Err(unknown(error).with_operation(operation.name))
        })
    }

    fn base_of(&self, operation: &'static Operation) -> Result<&Url, Error> {
        let region = if operation.regional { Region::Regional } else { Region::Global };
        self.base(region).ok_or_else(|| {
            no_regional_address(format!(
                "{operation} is served from a regional address, and none is set"
            ))
            .with_operation(operation.name)
        })
    }

    /// Checks the request, and plans its body.
    async fn prepare(&self, request: Request) -> Result<(Request, Arc<BodyPlan>), Error> {
        let validation = self.0.validation;
        // A hop to another thread costs more than all the rest of a small submission.
        if !request.is_heavy() {
            return prepare(request, validation);
        }
        tokio::task::spawn_blocking(move || prepare(request, validation)).await.unwrap_or_else(
            |error| {
                Err(Error::new(ErrorKind::File, "could not prepare the request").with_source(error))
            },
        )
    }
}

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
