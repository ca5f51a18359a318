//! A picture as a stream of bytes.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;

use super::{
    Picture,
    attempts::Attempts,
    download::{Download, DownloadFailure},
};
use crate::{Error, FileKind, TaskRef, telemetry::spans};

type NextChunk =
    Pin<Box<dyn Future<Output = (Download, Result<Option<Bytes>, DownloadFailure>)> + Send>>;

/// The bytes of a picture as a stream, returned by [`Picture::stream`].
///
/// At the end, the stream checks that the picture is complete. If the download failed or the
/// picture is incomplete, the last item is an error, and the previous items are not a picture.
#[must_use = "a stream does nothing unless it is polled"]
pub struct PictureStream {
    task: TaskRef,
    kind: Option<FileKind>,
    first: Option<Bytes>,
    step: Option<NextChunk>,
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
        let mut attempts = Attempts::of(self);
        let beginning = async {
            loop {
                match attempts.picture().begin(&attempts).await {
                    Ok(begun) => return Ok(begun),
                    Err(failure) => attempts.again_after(failure).await?,
                }
            }
        };
        let (download, first) = spans::run_download(&self.task, beginning).await?;
        Ok(PictureStream {
            task: self.task.clone(),
            kind: download.kind(),
            first: Some(first),
            step: Some(next(download)),
        })
    }

    /// Starts a download and returns it with its first bytes.
    async fn begin(&self, attempts: &Attempts) -> Result<(Download, Bytes), DownloadFailure> {
        let mut download = attempts.open().await?;
        match download.next().await? {
            Some(first) => Ok((download, first)),
            None => Err(DownloadFailure::Transient(self.failed("the response is empty"))),
        }
    }
}

impl PictureStream {
    /// Returns the file format detected from the first bytes, if it is known.
    pub fn kind(&self) -> Option<FileKind> {
        self.kind
    }
}

fn next(mut download: Download) -> NextChunk {
    Box::pin(async move {
        let chunk = download.next().await;
        (download, chunk)
    })
}

impl Stream for PictureStream {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let Some(step) = self.step.as_mut() else { return Poll::Ready(None) };
        let Poll::Ready((download, chunk)) = step.as_mut().poll(cx) else { return Poll::Pending };
        self.step = None;
        let failure = match chunk {
            Ok(Some(chunk)) => {
                self.step = Some(next(download));
                return Poll::Ready(Some(Ok(chunk)));
            }
            Ok(None) => match download.check() {
                Ok(_) => return Poll::Ready(None),
                Err(failure) => failure,
            },
            Err(failure) => failure,
        };
        Poll::Ready(Some(Err(failure.into_error())))
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
