//! Waits for the final status of a task: with one future, or with a stream of its updates.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;

use super::{Shared, Task, Update, options::WaitOptions, polling::Polling};
use crate::{
    Error, Picture, TaskRef, TaskStatus,
    picture::{Downloads, Source},
    types::PollResult,
    values::Moment,
};

impl Task {
    /// Waits for the picture with the default [`WaitOptions`].
    ///
    /// # Errors
    ///
    /// The same errors as [`wait_with`](Self::wait_with).
    pub fn wait(&self) -> impl Future<Output = Result<Picture, Error>> + Send + use<> {
        self.wait_with(WaitOptions::default())
    }

    /// Waits for the picture.
    ///
    /// The future does not borrow the task, so it can be spawned. A wait that failed can be
    /// repeated.
    ///
    /// The client retries polls that fail temporarily until the deadline: 5xx, timeouts, connection
    /// resets, unreadable responses and 429. It also polls again after a response that contradicts
    /// earlier ones; see [`RetryPolicy::longest_doubt`](crate::RetryPolicy::longest_doubt). A
    /// webhook that this client has verified ends the pause before the next poll, unless the
    /// service asked for the pause.
    ///
    /// # Errors
    ///
    /// Every error carries the reference of the task.
    ///
    /// - [`TaskFailed`](crate::ErrorKind::TaskFailed), [`Moderated`](crate::ErrorKind::Moderated),
    ///   [`TaskNotFound`](crate::ErrorKind::TaskNotFound): the task has ended without a picture.
    /// - [`Deadline`](crate::ErrorKind::Deadline), [`Auth`](crate::ErrorKind::Auth),
    ///   [`KeyWithheld`](crate::ErrorKind::KeyWithheld),
    ///   [`Service`](crate::ErrorKind::Service): the task continues. Wait for it again.
    pub fn wait_with(
        &self,
        options: WaitOptions,
    ) -> impl Future<Output = Result<Picture, Error>> + Send + use<> {
        self.wait_until(options, |_| false, Update::into_picture)
    }

    /// Waits for the first update whose status is final or satisfies the condition, and returns
    /// what `end` makes of it. A future around this one would be twice as large.
    pub(crate) fn wait_until<F, E, T>(
        &self,
        options: WaitOptions,
        is_enough: F,
        end: E,
    ) -> impl Future<Output = Result<T, Error>> + use<F, E, T>
    where
        F: Fn(&TaskStatus) -> bool,
        E: FnOnce(Update, &TaskRef) -> Result<T, Error>,
    {
        let mut polling = Polling::new(self.clone(), options);
        async move {
            loop {
                let update = polling.next().await?;
                if update.status().is_final() || is_enough(update.status()) {
                    return end(update, &polling.task.reference);
                }
            }
        }
    }

    /// Returns a stream of updates with one item per successful poll.
    ///
    /// Consecutive updates may have the same status. The client retries polls that fail
    /// temporarily, and does not return them as items. A failure status is an item, as in
    /// [`poll`](Self::poll).
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
            step: Some(next(Polling::new(self.clone(), options))),
            only_changes: false,
            last: None,
        }
    }
}

impl Source for Shared {
    fn downloads(&self) -> &Downloads {
        &self.downloads
    }

    fn again(
        self: Arc<Self>,
        task: TaskRef,
        ready_since: Moment,
        deadline: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<Picture, Error>> + Send>> {
        let task = Task { ready_since: Some(ready_since), ..Task::resumed(self, task) };
        let options = WaitOptions { deadline, is_urgent: true, ..WaitOptions::default() };
        Box::pin(task.wait_with(options))
    }
}

type NextUpdate = Pin<Box<dyn Future<Output = (Polling, Result<Update, Error>)> + Send>>;

/// A stream of the updates of a task, returned by [`Task::updates`].
///
/// The stream pauses between polls, so a loop over it does not busy-wait. It ends after a final
/// status or an error. It does not borrow the task, so it can be moved to another task of the
/// runtime or into the response of a web server.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Updates {
    step: Option<NextUpdate>,
    only_changes: bool,
    last: Option<PollResult>,
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
        f.debug_struct("Updates").finish_non_exhaustive()
    }
}
