//! Tasks and their updates.

use std::{fmt, time::SystemTime};

use super::{Blocking, Picture};
use crate::{Error, WaitOptions};

/// A task that the service has accepted and billed, as [`crate::Task`].
pub type Task = Blocking<crate::Task>;

impl Task {
    /// Sets when the task was first seen as `Ready`, as [`crate::Task::ready_since`].
    pub fn ready_since(mut self, time: SystemTime) -> Self {
        self.inner = self.inner.ready_since(time);
        self
    }

    /// Polls the task once, as [`crate::Task::poll`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Task::poll`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn poll(&self) -> Result<Update, Error> {
        let task = self.inner.clone();
        let update = self.run(async move { task.poll().await })?;
        Ok(self.with(update))
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
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn wait_with(&self, options: WaitOptions) -> Result<Picture, Error> {
        let task = self.inner.clone();
        let picture = self.run(async move { task.wait_with(options).await })?;
        Ok(self.with(picture))
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
        Updates(self.with(Some(self.inner.updates(options))))
    }

    /// Runs `work` on the thread of the client. Its errors name the task.
    fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.background.run(work).map_err(|error| error.with_task(self.reference()))
    }
}

/// The result of a successful poll, as [`crate::Update`].
pub type Update = Blocking<crate::Update>;

impl Update {
    /// Returns the picture, if the status is [`Ready`](crate::TaskStatus::Ready).
    pub fn picture(&self) -> Option<Picture> {
        self.inner.picture().map(|picture| self.with(picture.clone()))
    }
}

/// An iterator over the updates of a task, returned by [`Task::updates`].
///
/// It pauses between polls, and ends after a final status or an error.
#[must_use = "an iterator does nothing unless it is advanced"]
pub struct Updates(Blocking<Option<crate::Updates>>);

impl Updates {
    /// Omits updates that are equal to the previous one, as [`crate::Updates::changes`].
    pub fn changes(mut self) -> Self {
        self.0.inner = self.0.inner.map(crate::Updates::changes);
        self
    }
}

impl Iterator for Updates {
    type Item = Result<Update, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.0.next_item()?;
        Some(next.map(|update| self.0.with(update)))
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Updates").field(&self.0.inner).finish()
    }
}
