//! Tasks, their updates and their pictures.

use std::{path::Path, time::SystemTime};

use bytes::Bytes;

use super::Blocking;
use crate::{Error, FileKind, SaveOptions, Saved, TaskRef, WaitOptions};

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
        named(self.reference(), self.get(|task| async move { task.poll().await }))
    }

    /// Waits for the picture with the default [`WaitOptions`], for at most ten minutes, as
    /// `crate::Task::wait`.
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
        named(self.reference(), self.get(|task| async move { task.wait_with(options).await }))
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
}

/// The result of a successful poll, as [`crate::Update`].
pub type Update = Blocking<crate::Update>;

impl Update {
    /// Returns the picture, if the status is [`Ready`](crate::TaskStatus::Ready).
    pub fn picture(&self) -> Option<Picture> {
        self.inner.picture().map(|picture| self.with(picture.clone()))
    }

    /// Returns the picture of a final update of this task, as [`crate::Update::into_picture`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Update::into_picture`].
    pub fn into_picture(self, task: &TaskRef) -> Result<Picture, Error> {
        let picture = self.inner.clone().into_picture(task)?;
        Ok(self.with(picture))
    }
}

/// An iterator over the updates of a task, returned by [`Task::updates`].
///
/// `next` blocks until the next poll has succeeded. The iterator ends after a final status or an
/// error.
#[must_use = "an iterator does nothing unless it is advanced"]
#[derive(Debug)]
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

/// The picture of a task with status `Ready`, as [`crate::Picture`].
pub type Picture = Blocking<crate::Picture>;

impl Picture {
    /// Downloads the picture into memory.
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Picture::bytes`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn bytes(&self) -> Result<Bytes, Error> {
        named(self.task(), self.call(|picture| async move { picture.bytes().await }))
    }

    /// Downloads the content of the delivery URL without checking it, as
    /// [`crate::Picture::bytes_unchecked`].
    ///
    /// # Errors
    ///
    /// The same errors as [`bytes`](Self::bytes).
    pub fn bytes_unchecked(&self) -> Result<Bytes, Error> {
        named(self.task(), self.call(|picture| async move { picture.bytes_unchecked().await }))
    }

    /// Downloads the picture and saves it with the default [`SaveOptions`], as
    /// [`crate::Picture::save`].
    ///
    /// # Errors
    ///
    /// The same errors as [`save_with`](Self::save_with).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<Saved, Error> {
        self.save_with(path, SaveOptions::default())
    }

    /// Downloads the picture and saves it, as [`crate::Picture::save_with`].
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Picture::save_with`], and kind
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
    pub fn save_with(&self, path: impl AsRef<Path>, options: SaveOptions) -> Result<Saved, Error> {
        let path = path.as_ref().to_owned();
        named(
            self.task(),
            self.call(|picture| async move { picture.save_with(path, options).await }),
        )
    }

    /// Downloads the picture and saves it in a directory, as [`crate::Picture::save_in`].
    ///
    /// # Errors
    ///
    /// The same errors as [`save_with`](Self::save_with). The directory must exist.
    pub fn save_in(&self, directory: impl AsRef<Path>) -> Result<Saved, Error> {
        let directory = directory.as_ref().to_owned();
        named(self.task(), self.call(|picture| async move { picture.save_in(directory).await }))
    }

    /// Downloads the picture as an iterator over its bytes, as [`crate::Picture::stream`].
    ///
    /// # Errors
    ///
    /// The same errors as [`bytes`](Self::bytes), from this method or as the last item.
    pub fn stream(&self) -> Result<PictureStream, Error> {
        let stream =
            named(self.task(), self.call(|picture| async move { picture.stream().await }))?;
        Ok(PictureStream { kind: stream.kind(), stream: self.with(Some(stream)) })
    }
}

/// The bytes of a picture as an iterator, returned by [`Picture::stream`].
///
/// If the download failed or the picture is incomplete, the last item is an error, and the previous
/// items are not a picture.
#[must_use = "an iterator does nothing unless it is advanced"]
#[derive(Debug)]
pub struct PictureStream {
    stream: Blocking<Option<crate::PictureStream>>,
    kind: Option<FileKind>,
}

impl PictureStream {
    /// Returns the file format detected from the first bytes, if it is known.
    pub fn kind(&self) -> Option<FileKind> {
        self.kind
    }
}

impl Iterator for PictureStream {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.stream.next_item()
    }
}

/// Adds the reference of the task to errors of the background thread, which lack it.
fn named<T>(task: &TaskRef, outcome: Result<T, Error>) -> Result<T, Error> {
    outcome.map_err(|error| error.with_task(task))
}
