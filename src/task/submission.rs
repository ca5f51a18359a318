//! A submission under way: sent once, and sent again only if the service certainly did not take it.
//! It runs in a task of its own, so that it comes to its end whatever becomes of the caller.

use std::sync::Arc;

use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time,
};
use tracing::Span;
use url::Url;

use super::{
    Answer, Task, TaskRef,
    acceptance::named_task,
    exchange::exchange,
    refusal::{Attempt, no_response, refusal, unknown},
    submissions::UnderWay,
};
use crate::{
    Billing, Client, Error, ErrorKind, Request,
    journal::Intent,
    transport::{
        body::BodyPlan,
        redaction::Redaction,
        response::{Ending, Response},
        retry,
        service::Service,
    },
};

pub(super) struct Submission {
    pub(super) client: Client,
    pub(super) base: Url,
    pub(super) request: Request,
    pub(super) plan: Arc<BodyPlan>,
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// What is written to the journal, if there is one.
    pub(super) intent: Option<Intent>,
    pub(super) under_way: UnderWay,
}

/// What the service accepted.
struct Accepted {
    task: TaskRef,
    answer: Option<Arc<Answer>>,
}

/// Who waits for the task.
type Caller = oneshot::Sender<Result<Task, Error>>;

impl Submission {
    /// Runs to the end and tells the caller. A task whose caller is gone is kept for
    /// [`Client::drain`].
    pub(super) async fn run(self, mut caller: Caller) {
        let outcome = self.send_journalled(&mut caller).await;
        let Self { client, slot, under_way, request, .. } = self;
        if let Some(task) = accepted_task(&outcome) {
            if let (Some(slots), Some(slot)) = (&client.tasks().slots, slot) {
                slots.hold(task, slot);
            }
            under_way.accepted(task);
        }
        let outcome = match outcome {
            Ok(Accepted { task, answer }) => Ok(Task { client, reference: task, answer }),
            Err(error) => {
                // With the last client its journal is closed, and the caller may open it again.
                drop(client);
                Err(error.with_operation(request.operation().name))
            }
        };
        let Err(outcome) = caller.send(outcome) else { return };
        let outcome = outcome.map(|task| Accepted { task: task.reference, answer: task.answer });
        match (accepted_task(&outcome), &outcome) {
            (Some(task), _) => {
                tracing::warn!(task_id = task.id(), "accepted after `submit` was dropped");
                under_way.left_behind(task.clone());
            }
            (None, Err(error)) => {
                let billing_unknown = error.may_have_been_billed();
                tracing::warn!(kind = ?error.kind(), billing_unknown, "not accepted, after `submit` was dropped");
            }
            (None, Ok(_)) => {}
        }
    }

    /// Sends the request between its intent and what became of it.
    async fn send_journalled(&self, caller: &mut Caller) -> Result<Accepted, Error> {
        let (Some(journal), Some(intent)) = (&self.client.tasks().settings.journal, &self.intent)
        else {
            return self.send(caller).await;
        };
        journal.intend(intent).await.map_err(|error| {
            Error::new(ErrorKind::Journal, "the journal did not take the submission")
                .with_advice("nothing was sent")
                .with_source(error)
        })?;
        let sent = self.send(caller).await;
        match &sent {
            Ok(Accepted { task, .. }) => journal.accept(intent, task).await.map_err(|error| {
                let message = "the service accepted the task, and the journal could not keep it";
                Error::new(ErrorKind::Journal, message)
                    .with_task(task)
                    .with_advice("the task goes on, and is paid: keep its reference, and resume it")
                    .with_source(error)
            })?,
            Err(error) if error.billing() == Billing::NotBilled => {
                if let Err(error) = journal.withdraw(intent).await {
                    tracing::warn!(%error, "the journal keeps a submission that was not billed");
                }
            }
            // The intent stays, and says that it is unknown.
            Err(_) => {}
        }
        sent
    }

    /// Sends the request until the service has taken it, or may have.
    async fn send(&self, caller: &mut Caller) -> Result<Accepted, Error> {
        let mut attempt = 1;
        loop {
            Span::current().record("attempt", attempt);
            let (error, asked) = match self.attempt().await {
                Ok(response) => return self.accepted(&response),
                Err(Attempt::Failed(error)) => return Err(error),
                Err(Attempt::NotTaken { error, wait }) => (error, wait),
            };
            // A service that asks for no wait at all still gets one: six attempts at once are a
            // storm.
            let asked = asked.filter(|asked| !asked.is_zero());
            let Service { random, retry: policy, .. } = &**self.client.service();
            if attempt == policy.attempts
                || asked.is_some_and(|asked| asked > policy.longest_retry_after)
                || !self.client.tasks().submission_retries.take()
            {
                return Err(error);
            }
            let wait =
                asked.map_or_else(|| retry::delay(attempt, random), |asked| random.after(asked));
            tracing::debug!(attempt, wait_ms = wait.as_millis() as u64, kind = ?error.kind(), "sending again");
            // What was not taken is not sent again for a caller that is gone: nobody would want
            // what it costs.
            tokio::select! {
                () = time::sleep(wait) => {}
                () = caller.closed() => return Err(error),
            }
            attempt += 1;
        }
    }

    async fn attempt(&self) -> Result<Response, Attempt> {
        let Self { client, base, request, plan, .. } = self;
        let response = exchange(client, base, request, plan).await.map_err(no_response)?;
        Span::current().record("status", response.status.as_u16());
        match response.status.is_success() {
            true => Ok(response),
            false => Err(refusal(client, base, request, &response)),
        }
    }

    /// Reads the response to an accepted submission. However damaged it is, the task that it names
    /// is not lost.
    fn accepted(&self, response: &Response) -> Result<Accepted, Error> {
        let service = self.client.service();
        let redaction = Redaction::of_request(service, &self.request);
        if let Some(named) = named_task(response, self.request.operation(), &self.base, &redaction)
        {
            let task = named.task.clone().submitted(service.clock.now());
            if !matches!(response.ending, Ending::Complete) {
                tracing::warn!(
                    task_id = task.id(),
                    "the response to the submission is truncated; the task is known"
                );
            }
            return Ok(Accepted { task, answer: named.answer(&redaction).map(Arc::new) });
        }
        let status = response.status.as_u16();
        let (kind, message) = match &response.ending {
            Ending::Broken(_) | Ending::Silent | Ending::TooSlow => {
                (ErrorKind::Network, "ended before it named a task")
            }
            Ending::TooLong => {
                (ErrorKind::Reply, "is too long, and names no task as far as it was read")
            }
            Ending::Complete if response.document().is_none() => (ErrorKind::Reply, "is not JSON"),
            Ending::Complete => (ErrorKind::Reply, "names no task"),
        };
        let message =
            format!("the service accepted the submission ({status}), but the response {message}");
        Err(unknown(Error::new(kind, message))
            .with_status(status)
            .with_request_id(response.request_id(&redaction)))
    }
}

/// The task, also if the journal could not keep it.
fn accepted_task(outcome: &Result<Accepted, Error>) -> Option<&TaskRef> {
    match outcome {
        Ok(Accepted { task, .. }) => Some(task),
        Err(error) => match error.billing() {
            Billing::Accepted(task) => Some(task),
            _ => None,
        },
    }
}
