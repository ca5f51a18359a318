//! The updates of a task as a stream.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{Task, WaitOptions, update::Update, wait::Polling};
use crate::{Error, TaskRef, types::PollResult};

type Step = Pin<Box<dyn Future<Output = (Polling, Result<Update, Error>)> + Send>>;

/// The updates of a task, from [`Task::updates`]: polls first and pauses after, so a loop over it
/// can't spin.
///
/// It ends after a final status, and after an error. It does not borrow the task, so it can be
/// moved to another task of the runtime, or into the response of a web server.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Updates {
    task: TaskRef,
    step: Option<Step>,
    only_changes: bool,
    last: Option<PollResult>,
}

impl Task {
    /// The task's updates as they are polled, one an item, the same status twice if it is seen
    /// twice. Polls that fail for the moment are repeated and are not items. A failure status is an
    /// item, as in [`poll`](Self::poll).
    ///
    /// ```
    /// # use imagekiln::{Task, Error, Update};
    /// use futures_util::StreamExt;
    ///
    /// async fn show(task: &Task) -> Result<(), Error> {
    ///     let mut updates = task.updates(imagekiln::WaitOptions::default());
    ///     while let Some(update) = updates.next().await {
    ///         println!("{}", update?.status());
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn updates(&self, options: WaitOptions) -> Updates {
        Updates {
            task: self.reference.clone(),
            step: Some(next(Polling::new(&self.client, &self.reference, options))),
            only_changes: false,
            last: None,
        }
    }

    /// As [`updates`](Self::updates), for a task that is not needed otherwise.
    pub fn into_updates(self, options: WaitOptions) -> Updates {
        self.updates(options)
    }
}

impl Updates {
    /// Only the updates that differ from the one before: in their status, or in anything else that
    /// the service said, such as a progress.
    ///
    /// ```
    /// # use imagekiln::{Task, Error, WaitOptions};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn show(task: &Task) -> Result<(), Error> {
    ///     let mut changes = task.updates(WaitOptions::default()).changes();
    ///     while let Some(update) = changes.try_next().await? {
    ///         println!("{}", update.status());
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn changes(mut self) -> Self {
        self.only_changes = true;
        self
    }

    /// Whether this update is an item of the stream.
    fn is_news(&mut self, update: &Update) -> bool {
        if !self.only_changes {
            return true;
        }
        let is_news = self.last.as_ref() != Some(update.answer());
        self.last = Some(update.answer().clone());
        is_news
    }
}

fn next(mut polling: Polling) -> Step {
    Box::pin(async move {
        let update = polling.next().await;
        (polling, update)
    })
}

impl Stream for Updates {
    type Item = Result<Update, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Some(step) = self.step.as_mut() {
            let Poll::Ready((polling, outcome)) = step.as_mut().poll(cx) else {
                return Poll::Pending;
            };
            self.step = match &outcome {
                Ok(update) if !update.status().is_final() => Some(next(polling)),
                _ => None,
            };
            if outcome.as_ref().map_or(true, |update| self.is_news(update)) {
                return Poll::Ready(Some(outcome));
            }
        }
        Poll::Ready(None)
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").field("task", &self.task).finish_non_exhaustive()
    }
}
