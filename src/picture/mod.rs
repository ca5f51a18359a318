//! Pictures of finished tasks: their delivery URLs, downloading and saving.

mod asked;
mod attempts;
mod decoder;
mod destination;
mod download;
mod name;
mod part;
mod save;

use std::{
    fmt, future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_core::Stream;

pub use self::{
    asked::Asked,
    destination::SaveOptions,
    save::{DownloadedPicture, Saved},
};
use self::{
    download::{Download, DownloadFailure},
    part::Swept,
};
use crate::{
    Address, DELIVERY_VALIDITY, Error, FileKind, TaskRef,
    journal::Journal,
    retry::RetryBudget,
    transport::{hosts::DeliveryRules, service::Service},
    values::Moment,
};

/// The size in bytes from which a buffer grows by the same amount each time.
const MOST_DOUBLED: usize = 64 * 1024 * 1024;

/// The picture of a task with status `Ready`.
///
/// The signed delivery URL is valid for ten minutes. Anyone with this URL can download the picture,
/// so `Debug` omits its query.
///
/// The client makes up to four attempts to download a picture. If the delivery host refuses the
/// URL, the client polls the task again. It continues with the URL that this poll returns, or with
/// the old URL if the poll fails. An attempt fails if
///
/// - the download stalls: less than 1 KiB arrives within
///   [`ClientBuilder::silence_timeout`](crate::ClientBuilder::silence_timeout), and the picture is
///   not complete;
/// - the response is not a picture, or is only a part of a picture. For JPEG, PNG, WebP, MP4 and
///   WebM, the structure of the file decides this, not the declared length. Bytes after the end of
///   the picture are kept.
///
/// The client decompresses a body that is compressed with gzip or deflate, although it does not
/// request compression.
///
/// All attempts end with
/// [`ClientBuilder::download_deadline`](crate::ClientBuilder::download_deadline).
#[derive(Debug, Clone)]
#[must_use = "the picture is billed: fetch it before its delivery URL expires"]
pub struct Picture {
    source: Arc<dyn Source>,
    task: TaskRef,
    address: Address,
    /// When the poll that returned the address was sent.
    polled: Moment,
    ready_since: Moment,
}

impl Picture {
    /// `ready_since` is when an earlier poll, if any, returned the task as `Ready`.
    pub(crate) fn new(
        source: Arc<dyn Source>,
        task: TaskRef,
        address: Address,
        polled: Moment,
        ready_since: Option<Moment>,
    ) -> Self {
        let ready_since = ready_since.map_or(polled, |first| polled.earlier(first));
        Self { source, task, address, polled, ready_since }
    }

    fn downloads(&self) -> &Downloads {
        self.source.downloads()
    }

    /// Returns the task that generated the picture.
    pub fn task(&self) -> &TaskRef {
        &self.task
    }

    /// Returns the signed delivery URL.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns when the task was first seen as `Ready`: when the client sent the poll that returned
    /// this picture, or the earlier time that
    /// [`Task::ready_since`](crate::Task::ready_since) has set.
    pub fn ready_since(&self) -> SystemTime {
        self.ready_since.at
    }

    /// Returns when the picture expires: ten minutes after [`ready_since`](Self::ready_since).
    ///
    /// The contract does not define when the service signs a delivery URL. If the task was ready
    /// long before the first poll, the URL may expire earlier. If the service signs a new URL for
    /// each poll, the picture may be available for longer.
    pub fn expires_at(&self) -> SystemTime {
        let since = self.ready_since.at;
        since.checked_add(DELIVERY_VALIDITY).unwrap_or(since)
    }

    /// Downloads the picture into memory.
    ///
    /// # Errors
    ///
    /// Every error carries the reference of the task.
    ///
    /// - [`Expired`](crate::ErrorKind::Expired): the delivery host refused a URL that a poll had
    ///   returned ten minutes or more after the first `Ready`, by the clock of the service or by a
    ///   monotonic clock of this process.
    /// - [`Download`](crate::ErrorKind::Download): the picture could not be downloaded, or it is
    ///   larger than [`ClientBuilder::max_picture_bytes`](crate::ClientBuilder::max_picture_bytes).
    ///   This includes refusals that do not prove that the picture has expired.
    /// - [`Damaged`](crate::ErrorKind::Damaged): the delivery is not a complete picture.
    ///   [`bytes_unchecked`](Self::bytes_unchecked) returns its bytes.
    /// - [`AddressRefused`](crate::ErrorKind::AddressRefused): the host of the URL is not allowed
    ///   to deliver pictures.
    pub async fn bytes(&self) -> Result<Bytes, Error> {
        self.fetch(true).await
    }

    /// Downloads the content of the delivery URL without checking it.
    ///
    /// Use this method for pictures that [`bytes`](Self::bytes) refuses. The size is still limited,
    /// and failed downloads are still retried.
    ///
    /// # Errors
    ///
    /// The same errors as [`bytes`](Self::bytes).
    pub async fn bytes_unchecked(&self) -> Result<Bytes, Error> {
        self.fetch(false).await
    }

    /// Downloads the picture as a stream, for example to forward it in the response of a web server
    /// without buffering it.
    ///
    /// This method returns when the first bytes have arrived. Until then, the client retries
    /// failures like [`bytes`](Self::bytes). It cannot retry a failure of the stream itself,
    /// because the program may have used the bytes already.
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
        let beginning = self.attempt(|opening| async { next_chunk(opening.await?).await });
        let first = beginning.await?;
        let kind = first.as_ref().and_then(|(_, download)| download.kind());
        let step = Some(Box::pin(future::ready(Ok(first))) as _);
        Ok(PictureStream { kind, step })
    }

    async fn fetch(&self, check: bool) -> Result<Bytes, Error> {
        let fetching = self.attempt(|opening| async move {
            let mut download = opening.await?;
            let mut bytes = Vec::new();
            while let Some(chunk) = download.next().await? {
                // A buffer that doubles could take twice the memory of a large picture.
                if bytes.capacity() - bytes.len() < chunk.len() && bytes.len() > MOST_DOUBLED {
                    bytes.reserve_exact(chunk.len().max(MOST_DOUBLED));
                }
                bytes.extend_from_slice(&chunk);
            }
            if check {
                download.check()?;
            }
            Ok(bytes.into())
        });
        fetching.await
    }
}

/// The next chunk, and the download of the chunks after it. `None` after the last chunk.
type Next = Result<Option<(Bytes, Download)>, DownloadFailure>;

/// The bytes of a picture as a stream, returned by [`Picture::stream`].
///
/// At the end, the stream checks that the picture is complete. If the download failed or the
/// picture is incomplete, the last item is an error, and the previous items are not a picture.
#[must_use = "a stream does nothing unless it is polled"]
pub struct PictureStream {
    kind: Option<FileKind>,
    step: Option<Pin<Box<dyn Future<Output = Next> + Send>>>,
}

impl PictureStream {
    /// Returns the file format detected from the first bytes, if it is known.
    pub fn kind(&self) -> Option<FileKind> {
        self.kind
    }
}

/// Returns the next chunk. At the end, checks that the picture is complete.
async fn next_chunk(mut download: Download) -> Next {
    match download.next().await? {
        Some(chunk) => Ok(Some((chunk, download))),
        None => download.check().map(|_| None),
    }
}

impl Stream for PictureStream {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(step) = self.step.as_mut() else { return Poll::Ready(None) };
        let outcome = ready!(step.as_mut().poll(cx));
        self.step = None;
        Poll::Ready(match outcome {
            Ok(Some((chunk, download))) => {
                self.step = Some(Box::pin(next_chunk(download)));
                Some(Ok(chunk))
            }
            Ok(None) => None,
            Err(failure) => Some(Err(failure.into_error())),
        })
    }
}

impl fmt::Debug for PictureStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PictureStream").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The settings of downloads.
#[derive(Clone)]
pub(crate) struct DownloadSettings {
    pub(crate) max_picture_bytes: u64,
    /// The time limit for one picture, over all attempts.
    pub(crate) deadline: Duration,
}

impl Default for DownloadSettings {
    fn default() -> Self {
        Self { max_picture_bytes: 512 * 1024 * 1024, deadline: Duration::from_secs(3600) }
    }
}

pub(crate) struct Downloads {
    service: Arc<Service>,
    journal: Option<Arc<dyn Journal>>,
    settings: DownloadSettings,
    rules: DeliveryRules,
    retries: RetryBudget,
    /// The directories in which this client has deleted leftover temporary files.
    swept: Swept,
}

impl Downloads {
    pub(crate) fn new(
        service: Arc<Service>,
        journal: Option<Arc<dyn Journal>>,
        settings: DownloadSettings,
        rules: DeliveryRules,
    ) -> Self {
        let (retries, swept) = (RetryBudget::new(), Swept::default());
        Self { service, journal, settings, rules, retries, swept }
    }
}

/// The client that a picture comes from, as far as a picture needs it. `task` depends on `picture`,
/// so this trait stands for its types here.
pub(crate) trait Source: fmt::Debug + Send + Sync {
    fn downloads(&self) -> &Downloads;

    /// Polls the task of a picture again, and returns the picture with the current delivery URL,
    /// which may be a new one.
    fn again(
        self: Arc<Self>,
        task: TaskRef,
        ready_since: Moment,
        deadline: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<Picture, Error>> + Send>>;
}
