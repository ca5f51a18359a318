//! Pictures of finished tasks.

use std::{fmt, future::poll_fn, path::Path, pin::Pin, sync::Arc, time::SystemTime};

use bytes::Bytes;
use futures_core::Stream;

use super::background::Background;
use crate::{Address, Error, FileKind, SaveOptions, Saved, TaskRef};

/// The picture of a task with status `Ready`, as [`crate::Picture`].
#[derive(Clone)]
#[must_use = "the picture is billed: fetch it before its delivery URL expires"]
pub struct Picture {
    inner: crate::Picture,
    background: Arc<Background>,
}

impl Picture {
    pub(super) fn new(inner: crate::Picture, background: Arc<Background>) -> Self {
        Self { inner, background }
    }

    /// Returns the task that generated the picture.
    pub fn task(&self) -> &TaskRef {
        self.inner.task()
    }

    /// Returns the signed delivery URL.
    pub fn address(&self) -> &Address {
        self.inner.address()
    }

    /// Returns when the task was first seen as `Ready`, as [`crate::Picture::ready_since`].
    pub fn ready_since(&self) -> SystemTime {
        self.inner.ready_since()
    }

    /// Returns when the picture expires, as [`crate::Picture::expires_at`].
    pub fn expires_at(&self) -> SystemTime {
        self.inner.expires_at()
    }

    /// Downloads the picture into memory.
    ///
    /// # Errors
    ///
    /// The same errors as [`crate::Picture::bytes`], and kind
    /// [`Settings`](crate::ErrorKind::Settings) in async code.
    pub fn bytes(&self) -> Result<Bytes, Error> {
        let picture = self.inner.clone();
        self.run(async move { picture.bytes().await })
    }

    /// Downloads the content of the delivery URL without checking it, as
    /// [`crate::Picture::bytes_unchecked`].
    ///
    /// # Errors
    ///
    /// The same errors as [`bytes`](Self::bytes).
    pub fn bytes_unchecked(&self) -> Result<Bytes, Error> {
        let picture = self.inner.clone();
        self.run(async move { picture.bytes_unchecked().await })
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
    /// [`Settings`](crate::ErrorKind::Settings) in async code.
    pub fn save_with(&self, path: impl AsRef<Path>, options: SaveOptions) -> Result<Saved, Error> {
        let (picture, path) = (self.inner.clone(), path.as_ref().to_owned());
        self.run(async move { picture.save_with(path, options).await })
    }

    /// Downloads the picture and saves it in a directory, as [`crate::Picture::save_in`].
    ///
    /// # Errors
    ///
    /// The same errors as [`save_with`](Self::save_with). The directory must exist.
    pub fn save_in(&self, directory: impl AsRef<Path>) -> Result<Saved, Error> {
        let (picture, directory) = (self.inner.clone(), directory.as_ref().to_owned());
        self.run(async move { picture.save_in(directory).await })
    }

    /// Downloads the picture as an iterator over its bytes, as [`crate::Picture::stream`].
    ///
    /// # Errors
    ///
    /// The same errors as [`bytes`](Self::bytes), from this method or as the last item.
    pub fn stream(&self) -> Result<PictureStream, Error> {
        let picture = self.inner.clone();
        let stream = self.run(async move { picture.stream().await })?;
        let (kind, background) = (stream.kind(), Arc::clone(&self.background));
        Ok(PictureStream { inner: Some(stream), kind, background })
    }

    /// Runs `work` on the thread of the client. Its errors name the task.
    fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.background.run(work).map_err(|error| error.with_task(self.task()))
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// The bytes of a picture as an iterator, returned by [`Picture::stream`].
///
/// If the download failed or the picture is incomplete, the last item is an error, and the previous
/// items are not a picture.
#[must_use = "an iterator does nothing unless it is advanced"]
pub struct PictureStream {
    /// `None` at the end.
    inner: Option<crate::PictureStream>,
    kind: Option<FileKind>,
    background: Arc<Background>,
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
        let mut stream = self.inner.take()?;
        let next = self.background.run(async move {
            let chunk = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await.transpose()?;
            Ok((stream, chunk))
        });
        match next {
            Ok((stream, chunk)) => {
                let chunk = chunk?;
                self.inner = Some(stream);
                Some(Ok(chunk))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl fmt::Debug for PictureStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PictureStream").field("kind", &self.kind).finish_non_exhaustive()
    }
}
