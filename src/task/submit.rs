//! The submission: the request is checked, sent once, and sent again only if the service certainly did not take it.

use std::sync::{Arc, Mutex};

use tokio::{sync::OwnedSemaphorePermit, time};
use tracing::{Instrument, Span, field};
use url::Url;

#[cfg(feature = "webhook")]
use super::submissions::UnderWay;
use super::{
    Charge, Task, TaskRef,
    acceptance::{charge, named_task},
    exchange::exchange,
    refusal::{Attempt, no_response, refusal, unknown},
};
use crate::{
    Client, Error, ErrorKind, Operation, Region, Request, Submit,
    client::no_regional_address,
    transport::{
        body::BodyPlan,
        redaction::Redaction,
        response::{Ending, Response},
        retry,
    },
};

impl Client {
    /// Submits a request: the POST happens here, and only here. Returns once the service has accepted the task.
    ///
    /// Dropping the future before it is done may leave a submission behind that was accepted and paid, and whose task is
    /// not known. If that may happen (a time limit, an interruption), run it to its end in a task of its own.
    ///
    /// # Errors
    ///
    /// Kinds [`Validation`](ErrorKind::Validation), [`Auth`](ErrorKind::Auth), [`Payment`](ErrorKind::Payment),
    /// [`RateLimited`](ErrorKind::RateLimited), [`File`](ErrorKind::File), [`Settings`](ErrorKind::Settings): usually
    /// nothing was paid. Kinds [`Network`](ErrorKind::Network), [`Service`](ErrorKind::Service),
    /// [`Reply`](ErrorKind::Reply): it depends. [`Error::billing`] tells which it is.
    pub async fn submit(&self, request: impl Submit) -> Result<Task, Error> {
        let request = request.into_request();
        let operation = request.operation();
        let span = tracing::info_span!(
            "submit",
            operation = operation.name,
            task_id = field::Empty,
            attempt = field::Empty,
            status = field::Empty
        );
        async {
            let outcome = self.submit_request(request).await;
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

    async fn submit_request(&self, mut request: Request) -> Result<Task, Error> {
        let operation = request.operation();
        if !operation.submits {
            return Err(Error::new(ErrorKind::Settings, format!("{operation} does not submit anything"))
                .advice("poll a task with Client::task or Client::task_by_id")
                .operation(operation.name));
        }
        let base = self.base_of(operation)?;
        self.0.webhook.fill(&mut request);
        let (request, plan) = self.prepare(request).await?;
        let slot = self.slot().await;
        #[cfg(feature = "webhook")]
        let under_way = request.asks_for_webhook().then(|| UnderWay::new(self));
        let response =
            self.send(base, &request, &plan).await.map_err(|error| error.operation(operation.name))?;
        let redaction = Redaction::of_request(self, &request);
        let (reference, charge) = accepted(&response, operation, base, &redaction)?;
        #[cfg(feature = "webhook")]
        if let Some(under_way) = under_way {
            under_way.accepted(&reference);
        }
        Ok(Task { client: self.clone(), reference, charge, slot: Mutex::new(slot) })
    }

    fn base_of(&self, operation: &'static Operation) -> Result<&Url, Error> {
        let region = if operation.regional { Region::Regional } else { Region::Global };
        self.base(region).ok_or_else(|| {
            no_regional_address(format!("{operation} is served from a regional address, and none is set"))
                .operation(operation.name)
        })
    }

    /// Checks the request, and plans its body.
    async fn prepare(&self, request: Request) -> Result<(Request, Arc<BodyPlan>), Error> {
        let validation = self.0.validation;
        // A hop to another thread costs more than all the rest of a small submission.
        if !request.is_heavy() {
            return prepare(request, validation);
        }
        tokio::task::spawn_blocking(move || prepare(request, validation)).await.unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::File, "could not prepare the request").caused_by(error))
        })
    }

    /// A slot among the active tasks, as soon as one is free.
    async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        let slots = self.0.active_tasks.as_ref()?;
        // Closing is never called on it; without a slot the worst is one task more than asked for.
        Arc::clone(slots).acquire_owned().await.ok()
    }

    /// Sends the request until the service has taken it, or may have.
    async fn send(&self, base: &Url, request: &Request, plan: &Arc<BodyPlan>) -> Result<Response, Error> {
        let mut attempt = 1;
        loop {
            Span::current().record("attempt", attempt);
            let (error, asked) = match self.attempt(base, request, plan).await {
                Ok(response) => return Ok(response),
                Err(Attempt::Failed(error)) => return Err(error),
                Err(Attempt::NotTaken { error, wait }) => (error, wait),
            };
            // A service that asks for no wait at all still gets one: six attempts at once are a storm.
            let asked = asked.filter(|asked| !asked.is_zero());
            if attempt == retry::MAX_ATTEMPTS
                || asked.is_some_and(|asked| asked > retry::LONGEST_RETRY_AFTER)
                || !self.0.submission_retries.take()
            {
                return Err(error);
            }
            let wait = asked
                .map_or_else(|| retry::delay(attempt, &self.0.random), |asked| self.0.random.after(asked));
            tracing::debug!(attempt, wait_ms = wait.as_millis() as u64, kind = ?error.kind(), "sending again");
            time::sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        base: &Url,
        request: &Request,
        plan: &Arc<BodyPlan>,
    ) -> Result<Response, Attempt> {
        let response = exchange(self, base, request, plan).await.map_err(no_response)?;
        Span::current().record("status", response.status.as_u16());
        match response.status.is_success() {
            true => Ok(response),
            false => Err(refusal(self, base, request, &response)),
        }
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
            .advice("nothing was sent")
            .operation(operation.name)
    })?;
    Ok((request, Arc::new(plan)))
}

/// Reads the response to an accepted submission. However damaged it is, the task that it names is not lost.
fn accepted(
    response: &Response,
    operation: &'static Operation,
    base: &Url,
    redaction: &Redaction,
) -> Result<(TaskRef, Charge), Error> {
    if let Some(task) = named_task(response, operation, base, redaction) {
        if !matches!(response.ending, Ending::Complete) {
            tracing::warn!(
                task_id = task.id(),
                "the response to the submission is truncated; the task is known"
            );
        }
        return Ok((task, charge(response)));
    }
    let status = response.status.as_u16();
    let (kind, message) = match &response.ending {
        Ending::Broken(_) | Ending::Silent | Ending::TooSlow => {
            (ErrorKind::Network, "ended before it named a task")
        }
        Ending::TooLong => (ErrorKind::Reply, "is too long, and names no task as far as it was read"),
        Ending::Complete if response.document().is_none() => (ErrorKind::Reply, "is not JSON"),
        Ending::Complete => (ErrorKind::Reply, "names no task"),
    };
    let message = format!("the service accepted the submission ({status}), but the response {message}");
    Err(unknown(Error::new(kind, message))
        .with_status(status)
        .with_request_id(response.request_id(redaction))
        .operation(operation.name))
}
