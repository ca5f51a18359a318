//! Webhooks of jobs. A webhook wakes the wait for its task, and brings the task of a submission
//! whose response was lost.

#[cfg(feature = "axum")]
mod router;

use std::{sync::Arc, time::Duration};

use imagekiln::{
    Backoff, Client, Task, TaskStatus,
    journal::{Record, Step},
    webhook::Event,
};
use tokio::time;

use crate::{Error, ErrorKind, Ledger, ledger::task_of};

/// The number of polls for a task that the service does not find, and the first and the longest
/// pause between them. Polls may lag behind webhooks.
const MAX_POLLS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(32);

/// Receives the webhooks of a batch, returned by [`Batch::callbacks`](crate::Batch::callbacks).
#[derive(Debug, Clone)]
pub struct Callbacks {
    client: Client,
    ledger: Ledger,
    /// Shows the batch that webhooks are received.
    _receiver: Arc<()>,
}

impl Callbacks {
    pub(crate) fn new(client: Client, ledger: Ledger, receiver: Arc<()>) -> Self {
        client.expect_events();
        Self { client, ledger, _receiver: receiver }
    }

    /// Handles a verified event that arrived at the URL with this token.
    ///
    /// If the ledger knows the task, the call wakes the waits of this process for the task. If the
    /// response to the submission was lost, the call polls the task that the event names. If the
    /// service knows the task, the ledger records it, and a run continues the job, even if a person
    /// resolved the job as not billed in the meantime and it is queued again. In both cases, what
    /// the event says about the task has no effect: only a poll is trusted.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): no submission has this token, or the task belongs to another
    ///   one. Nothing was changed.
    /// - [`Client`](ErrorKind::Client): the event has no task id, or a poll could not confirm that
    ///   the task exists. Nothing was changed; handle the event again later.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be read or written.
    pub async fn receive(&self, token: &str, event: &Event) -> Result<(), Error> {
        let record = self.ledger.called_back(token).await?.ok_or_else(|| {
            let message = "no submission of the ledger has the token of the webhook";
            Error::new(ErrorKind::State, message)
        })?;
        match record.task() {
            // The record is closed, so nobody waits for the task.
            Some(_) if record.state().is_closed() => Ok(()),
            Some(task) => {
                let task = task.clone().of_submission(record.intent().id());
                self.client.confirm(event, &task).await.map(drop).map_err(unconfirmed)
            }
            None => {
                let task = self.confirmed(&record, event).await?;
                tracing::info!(task_id = task.id(), "a webhook found the task of a lost response");
                self.ledger.decide(&record, Step::Accepted(task.reference().clone())).await
            }
        }
    }

    /// Returns the task that the event names, if the service knows it.
    async fn confirmed(&self, lost: &Record, event: &Event) -> Result<Task, Error> {
        let id = event.task_id().ok_or_else(|| {
            Error::new(ErrorKind::Client, "the webhook contains no task id; nothing was changed")
        })?;
        let task = task_of(&self.client, lost, id)?;
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        for attempt in 1..=MAX_POLLS {
            match self.client.confirm(event, task.reference()).await {
                Ok(update) if *update.status() != TaskStatus::TaskNotFound => return Ok(task),
                Err(error) if !error.is_transient() || attempt == MAX_POLLS => {
                    return Err(unconfirmed(error));
                }
                _ => time::sleep(backoff.pause()).await,
            }
        }
        let message = "the service does not know the task of the webhook; nothing was changed";
        Err(Error::new(ErrorKind::Client, message))
    }
}

fn unconfirmed(error: imagekiln::Error) -> Error {
    Error::new(ErrorKind::Client, "could not confirm the webhook").with_source(error)
}
