//! The connection between a submission and the caller of `submit`, who may be gone before the
//! submission ends.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::sync::oneshot::{self, error::RecvError};

use super::{Task, submissions::Submissions};
use crate::{Billing, Error, TaskRef};

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
pub(super) struct Waiting {
    receiver: oneshot::Receiver<Outcome>,
    submissions: Arc<Submissions>,
}

pub(super) fn connect(submissions: &Arc<Submissions>) -> (Caller, Waiting) {
    let (sender, receiver) = oneshot::channel();
    let caller = Caller { sender, submissions: Arc::clone(submissions) };
    (caller, Waiting { receiver, submissions: Arc::clone(submissions) })
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

impl Future for Waiting {
    type Output = Result<Outcome, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(cx)
    }
}

impl Drop for Waiting {
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
    if let Some(task) = accepted_task(outcome) {
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

fn accepted_task(outcome: &Outcome) -> Option<&TaskRef> {
    match outcome {
        Ok(task) => Some(task.reference()),
        Err(error) => match error.billing() {
            Billing::Accepted(task) => Some(task),
            _ => None,
        },
    }
}
