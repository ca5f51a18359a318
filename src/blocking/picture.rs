//! Pictures of finished tasks.

use std::{fmt, path::Path};

use bytes::Bytes;

use super::Blocking;
use crate::{Error, FileKind, SaveOptions, Saved};

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
    /// [`Usage`](crate::ErrorKind::Usage) in async code.
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
        Ok(PictureStream { kind: stream.kind(), stream: self.with(Some(stream)) })
    }

    /// Runs `work` on the thread of the client. Its errors name the task.
    fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.background.run(work).map_err(|error| error.with_task(self.task()))
    }
}

/// The bytes of a picture as an iterator, returned by [`Picture::stream`].
///
/// If the download failed or the picture is incomplete, the last item is an error, and the previous
/// items are not a picture.
#[must_use = "an iterator does nothing unless it is advanced"]
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

impl fmt::Debug for PictureStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PictureStream").field("kind", &self.kind).finish_non_exhaustive()
    }
}
