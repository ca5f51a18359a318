//! What a caller of `submit` waits for: the outcome of a submission, until a deadline. The caller
//! may be gone before the submission ends.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    sync::oneshot::{self, error::RecvError},
    time::{self, Instant},
};

use super::{Task, refusal::unknown, submissions::Submissions};
use crate::{Billing, Error, ErrorKind, TaskRef};

type Outcome = Result<Task, Error>;

/// The end of the submission.
pub(super) struct Caller {
    sender: oneshot::Sender<Outcome>,
    submissions: Arc<Submissions>,
}

/// The end of the caller: a future of the outcome.
///
/// Dropping it keeps the accepted task for [`Client::drain`](crate::Client::drain), even if the
/// outcome was sent but not received yet.
pub(super) struct OutcomeReceiver {
    receiver: oneshot::Receiver<Outcome>,
    submissions: Arc<Submissions>,
}

pub(super) fn connect(submissions: &Arc<Submissions>) -> (Caller, OutcomeReceiver) {
    let (sender, receiver) = oneshot::channel();
    let caller = Caller { sender, submissions: Arc::clone(submissions) };
    (caller, OutcomeReceiver { receiver, submissions: Arc::clone(submissions) })
}

impl Caller {
    /// Returns when the caller is gone.
    pub(super) async fn gone(&mut self) {
        self.sender.closed().await;
    }

    /// Sends the outcome to the caller. If the caller is gone, keeps the task.
    pub(super) fn report(self, outcome: Outcome) {
        if let Err(outcome) = self.sender.send(outcome) {
            keep(&self.submissions, &outcome);
        }
    }
}

impl Future for OutcomeReceiver {
    type Output = Result<Outcome, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(cx)
    }
}

impl Drop for OutcomeReceiver {
    fn drop(&mut self) {
        // Closed first, so that an outcome is either sent by now, or never.
        self.receiver.close();
        if let Ok(outcome) = self.receiver.try_recv() {
            keep(&self.submissions, &outcome);
        }
    }
}

/// Keeps the task of an outcome that nobody receives.
fn keep(submissions: &Submissions, outcome: &Outcome) {
    if let Some(task) = accepted_task(outcome.as_ref().map(Task::reference)) {
        tracing::warn!(task_id = task.id(), "submission accepted after `submit` was dropped");
        submissions.keep_orphan(task.clone());
    } else if let Err(error) = outcome {
        let billing_unknown = error.may_have_been_billed();
        tracing::warn!(
            kind = ?error.kind(),
            billing_unknown,
            "submission failed after `submit` was dropped"
        );
    }
}

/// Returns the accepted task of an outcome, even if the journal could not record it.
pub(super) fn accepted_task<'a>(outcome: Result<&'a TaskRef, &'a Error>) -> Option<&'a TaskRef> {
    match outcome {
        Ok(task) => Some(task),
        Err(error) => match error.billing() {
            Billing::Accepted(task) => Some(task),
            _ => None,
        },
    }
}

/// Limits how long `submit` waits. The submission itself is not cancelled.
pub(super) struct Deadline {
    limit: Duration,
    until: Option<Instant>,
}

impl Deadline {
    /// Starts the deadline now.
    pub(super) fn new(limit: Option<Duration>) -> Self {
        let until = limit.map(|limit| Instant::now() + limit);
        Self { limit: limit.unwrap_or_default(), until }
    }

    /// Returns the outcome of `future`, or `None` if the deadline passes first.
    pub(super) async fn limit<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        match self.until {
            Some(until) => time::timeout_at(until, future).await.ok(),
            None => Some(future.await),
        }
    }

    pub(super) fn no_slot(&self) -> Error {
        let message = format!("no slot became free within {} s", self.limit.as_secs_f32());
        Error::new(ErrorKind::Deadline, message)
            .with_advice("nothing was sent; wait for a task to finish, or allow more active tasks")
            .with_function("ClientBuilder::max_active_tasks")
    }

    pub(super) fn no_response(&self) -> Error {
        let message = format!("no response to the submission after {} s", self.limit.as_secs_f32());
        let advice = "the submission continues; if the service accepts it, its task can still be \
                      received";
        unknown(Error::new(ErrorKind::Deadline, message))
            .with_advice(advice)
            .with_function("Client::drain")
    }
}
