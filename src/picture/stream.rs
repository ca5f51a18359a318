//! A picture as a stream of bytes.

use std::{
    fmt, future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;

use super::{
    Picture,
    download::{Download, DownloadFailure},
};
use crate::{Error, FileKind, TaskRef};

/// The next chunk, and the download of those that follow. `None` after the last one.
type Next = Result<Option<(Bytes, Download)>, DownloadFailure>;

/// The bytes of a picture as a stream, returned by [`Picture::stream`].
///
/// At the end, the stream checks that the picture is complete. If the download failed or the
/// picture is incomplete, the last item is an error, and the previous items are not a picture.
#[must_use = "a stream does nothing unless it is polled"]
pub struct PictureStream {
    task: TaskRef,
    kind: Option<FileKind>,
    step: Option<Pin<Box<dyn Future<Output = Next> + Send>>>,
}

impl Picture {
    /// Downloads the picture as a stream, for example to forward it in the response of a web server
    /// without buffering it.
    ///
    /// Returns when the first bytes have arrived. Until then, the client retries failures like
    /// [`bytes`](Self::bytes).
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    ///
    /// # async fn size(picture: imagekiln::Picture) -> Result<usize, imagekiln::Error> {
    /// let stream = picture.stream().await?;
    /// println!("{}", stream.kind().map_or("unknown", |kind| kind.media_type()));
    /// stream.try_fold(0, async |size, chunk| Ok(size + chunk.len())).await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The same errors as [`bytes`](Self::bytes), from this method or as the last item of the
    /// stream.
    pub async fn stream(&self) -> Result<PictureStream, Error> {
        let beginning = self.attempt(|opening| async { next(opening.await?).await });
        let first = beginning.await?;
        let kind = first.as_ref().and_then(|(_, download)| download.kind());
        let step = Some(Box::pin(future::ready(Ok(first))) as _);
        Ok(PictureStream { task: self.task.clone(), kind, step })
    }
}

impl PictureStream {
    /// Returns the file format detected from the first bytes, if it is known.
    pub fn kind(&self) -> Option<FileKind> {
        self.kind
    }
}

/// At the end, checks that the picture is complete.
async fn next(mut download: Download) -> Next {
    match download.next().await? {
        Some(chunk) => Ok(Some((chunk, download))),
        None => download.check().map(|_| None),
    }
}

impl Stream for PictureStream {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(step) = self.step.as_mut() else { return Poll::Ready(None) };
        let next_chunk = ready!(step.as_mut().poll(cx));
        self.step = None;
        Poll::Ready(match next_chunk {
            Ok(Some((chunk, download))) => {
                self.step = Some(Box::pin(next(download)));
                Some(Ok(chunk))
            }
            Ok(None) => None,
            Err(failure) => Some(Err(failure.into_error())),
        })
    }
}

impl fmt::Debug for PictureStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PictureStream")
            .field("task", &self.task)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
