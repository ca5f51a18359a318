//! A picture as a stream of its bytes.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;

use super::{
    Picture,
    download::Download,
    tries::{Failure, Tries},
};
use crate::{Error, FileKind, TaskRef};

type Step = Pin<Box<dyn Future<Output = (Download, Result<Option<Bytes>, Failure>)> + Send>>;

/// The bytes of a picture as they arrive, from [`Picture::stream`].
///
/// After the last bytes the stream checks that the picture is whole. If it is not, or if the
/// download fails, the last item is an error: what came before it is not a picture.
#[must_use = "a stream does nothing unless it is polled"]
pub struct PictureStream {
    task: TaskRef,
    kind: Option<FileKind>,
    first: Option<Bytes>,
    step: Option<Step>,
}

impl Picture {
    /// Fetches the picture as a stream, for instance to pass it on in a response of a web server
    /// without holding it in memory. Returns when the first bytes have arrived; until then failures
    /// are retried as by [`bytes`](Self::bytes).
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
    /// As [`bytes`](Self::bytes), here and as the last item.
    pub async fn stream(&self) -> Result<PictureStream, Error> {
        let mut tries = Tries::of(self);
        loop {
            match tries.picture().begin(tries.until).await {
                Ok((download, first)) => {
                    return Ok(PictureStream {
                        task: self.task.clone(),
                        kind: download.kind(),
                        first: Some(first),
                        step: Some(next(download)),
                    });
                }
                Err(failure) => tries.again_after(failure).await?,
            }
        }
    }

    /// The download, and its first bytes.
    async fn begin(&self, until: tokio::time::Instant) -> Result<(Download, Bytes), Failure> {
        let mut download = self.open(until).await?;
        match download.next().await? {
            Some(first) => Ok((download, first)),
            None => Err(Failure::Transient(self.failed("the response is empty"))),
        }
    }
}

impl PictureStream {
    /// The kind of file, by its first bytes, if they show one.
    pub fn kind(&self) -> Option<FileKind> {
        self.kind
    }
}

fn next(mut download: Download) -> Step {
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
