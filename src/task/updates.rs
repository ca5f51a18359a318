//! A stream of the updates of a task.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{Task, Update, WaitOptions, wait::Polling};
use crate::{Error, TaskRef, types::PollResult};

type NextUpdate = Pin<Box<dyn Future<Output = (Polling, Result<Update, Error>)> + Send>>;

/// A stream of the updates of a task, returned by [`Task::updates`].
///
/// The stream pauses between polls, so a loop over it does not busy-wait. It ends after a final
/// status or an error. It does not borrow the task, so it can be moved to another task of the
/// runtime or into the response of a web server.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Updates {
    task: Arc<TaskRef>,
    step: Option<NextUpdate>,
    only_changes: bool,
    last: Option<PollResult>,
}

impl Task {
    /// Returns a stream of updates with one item per successful poll.
    ///
    /// Consecutive updates may have the same status. The client retries polls that fail
    /// temporarily; they are not items. A failure status is an item, as in [`poll`](Self::poll).
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
            task: Arc::clone(&self.reference),
            step: Some(next(Polling::new(self.clone(), options))),
            only_changes: false,
            last: None,
        }
    }
}

impl Updates {
    /// Omits updates that are equal to the previous one.
    ///
    /// An update differs if the status or any other part of the response differs, for example a
    /// progress value.
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
    fn is_item(&mut self, update: &Update) -> bool {
        if !self.only_changes {
            return true;
        }
        let has_changed = self.last.as_ref() != Some(update.response());
        self.last = Some(update.response().clone());
        has_changed
    }
}

fn next(mut polling: Polling) -> NextUpdate {
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
            if outcome.as_ref().map_or(true, |update| self.is_item(update)) {
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
