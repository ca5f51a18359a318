//! Tasks and their updates.

use std::{fmt, future::poll_fn, pin::Pin, sync::Arc, time::SystemTime};

use futures_core::Stream;

use super::{Picture, background::Background};
use crate::{
    Answer, Error, Extra, TaskRef, TaskStatus, WaitOptions,
    types::{PollResult, TaskResult},
};

/// A task that the service has accepted and billed, as [`crate::Task`].
#[derive(Clone)]
#[must_use = "the task is billed: wait for it, or keep its reference"]
pub struct Task {
    inner: crate::Task,
    background: Arc<Background>,
}

impl Task {
    pub(super) fn new(inner: crate::Task, background: Arc<Background>) -> Self {
        Self { inner, background }
    }

    /// Sets when the task was first seen as `Ready`, as [`crate::Task::ready_since`].
    pub fn ready_since(mut self, time: SystemTime) -> Self {
        self.inner = self.inner.ready_since(time);
        self
    }

    /// Returns the serializable reference, from which another process can resume the task.
    pub fn reference(&self) -> &TaskRef {
        self.inner.reference()
    }

    /// Returns the id of the task.
    pub fn id(&self) -> &str {
        self.inner.id()
    }

    /// Returns the cost of the submission in credits, if the service reported it.
    pub fn cost(&self) -> Option<f64> {
        self.inner.cost()
    }

    /// Returns the size of the input images in megapixels, as [`crate::Task::input_mp`].
    pub fn input_mp(&self) -> Option<f64> {
        self.inner.input_mp()
    }

    /// Returns the size of the generated picture in megapixels, as [`crate::Task::output_mp`].
    pub fn output_mp(&self) -> Option<f64> {
        self.inner.output_mp()
    }

    /// Returns the complete response to the submission. `None` for a resumed task.
    pub fn answer(&self) -> Option<&Answer> {
        self.inner.answer()
    }

    /// Polls the task once, as [`crate::Task::poll`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Task::poll`], and kind
    /// [`Settings`](crate::ErrorKind::Settings) in async code.
    pub fn poll(&self) -> Result<Update, Error> {
        let task = self.inner.clone();
        let update = self.run(async move { task.poll().await })?;
        Ok(Update::new(update, &self.background))
    }

    /// Waits for the picture with the default [`WaitOptions`]: for at most ten minutes.
    ///
    /// # Errors
    ///
    /// The same errors as [`wait_with`](Self::wait_with).
    pub fn wait(&self) -> Result<Picture, Error> {
        self.wait_with(WaitOptions::default())
    }

    /// Waits for the picture, as [`crate::Task::wait_with`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Task::wait_with`], and kind
    /// [`Settings`](crate::ErrorKind::Settings) in async code.
    pub fn wait_with(&self, options: WaitOptions) -> Result<Picture, Error> {
        let task = self.inner.clone();
        let picture = self.run(async move { task.wait_with(options).await })?;
        Ok(Picture::new(picture, Arc::clone(&self.background)))
    }

    /// Returns an iterator over the updates of the task, one for each successful poll, as
    /// [`crate::Task::updates`].
    ///
    /// ```
    /// # use imagekiln::{blocking::Task, Error};
    /// fn show(task: &Task) -> Result<(), Error> {
    ///     for update in task.updates(imagekiln::WaitOptions::default()) {
    ///         println!("{}", update?.status());
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn updates(&self, options: WaitOptions) -> Updates {
        let updates = self.inner.updates(options);
        Updates { inner: Some(updates), background: Arc::clone(&self.background) }
    }

    /// Returns an iterator like [`updates`](Self::updates), and consumes the task.
    pub fn into_updates(self, options: WaitOptions) -> Updates {
        self.updates(options)
    }

    /// Runs `work` on the thread of the client. Its errors name the task.
    fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.background.run(work).map_err(|error| error.with_task(self.reference()))
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// The result of a successful poll, as [`crate::Update`].
#[derive(Debug, Clone)]
pub struct Update {
    inner: crate::Update,
    picture: Option<Picture>,
}

impl Update {
    pub(super) fn new(inner: crate::Update, background: &Arc<Background>) -> Self {
        let picture = inner.picture().cloned();
        let picture = picture.map(|picture| Picture::new(picture, Arc::clone(background)));
        Self { inner, picture }
    }

    /// Returns the status of the task.
    pub fn status(&self) -> &TaskStatus {
        self.inner.status()
    }

    /// Returns the picture, if the status is [`Ready`](TaskStatus::Ready).
    pub fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    /// Returns the result of the task, as [`crate::Update::result`].
    pub fn result(&self) -> Option<&TaskResult> {
        self.inner.result()
    }

    /// Returns the complete poll response, as [`crate::Update::answer`].
    pub fn answer(&self) -> &PollResult {
        self.inner.answer()
    }

    /// Returns the fields of the poll response that the contract does not define.
    pub fn extra(&self) -> &Extra {
        self.inner.extra()
    }
}

/// An iterator over the updates of a task, returned by [`Task::updates`].
///
/// It pauses between polls, and ends after a final status or an error.
#[must_use = "an iterator does nothing unless it is advanced"]
pub struct Updates {
    /// `None` at the end.
    inner: Option<crate::Updates>,
    background: Arc<Background>,
}

impl Updates {
    /// Omits updates that are equal to the previous one, as [`crate::Updates::changes`].
    pub fn changes(mut self) -> Self {
        self.inner = self.inner.map(crate::Updates::changes);
        self
    }
}

impl Iterator for Updates {
    type Item = Result<Update, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut updates = self.inner.take()?;
        let next = self.background.run(async move {
            let update = poll_fn(|cx| Pin::new(&mut updates).poll_next(cx)).await.transpose()?;
            Ok((updates, update))
        });
        match next {
            Ok((updates, update)) => {
                let update = update?;
                self.inner = Some(updates);
                Some(Ok(Update::new(update, &self.background)))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Updates").field(&self.inner).finish()
    }
}
