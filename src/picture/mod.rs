//! Pictures of finished tasks: their delivery URLs, and how to fetch and save them.

mod attempts;
mod destination;
mod download;
mod name;
mod part;
mod save;
mod stream;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;

use self::part::Swept;
pub use self::{destination::SaveOptions, save::Saved, stream::PictureStream};
use crate::{
    Address, DELIVERY_VALIDITY, Error, TaskRef,
    journal::Journal,
    retry::RetryBudget,
    transport::{hosts::DeliveryRules, service::Service},
};

/// The size in bytes from which a buffer grows by the same amount each time.
const MOST_DOUBLED: usize = 64 * 1024 * 1024;

/// The picture of a task with status `Ready`.
///
/// The signed delivery URL is valid for ten minutes. Anyone with this URL can download the picture,
/// so `Debug` omits its query.
///
/// The client makes up to four attempts to download a picture. If the delivery host refuses the
/// URL, the client polls the task again, and continues with the URL that the poll returns, or with
/// the same one if the poll fails. An attempt fails if
///
/// - the download stalls: less than 1 KiB arrives within
///   [`ClientBuilder::silence_timeout`](crate::ClientBuilder::silence_timeout), and the picture is
///   not complete;
/// - the response is not a picture, or only a part of one. For JPEG, PNG, WebP, MP4 and WebM, the
///   structure of the file decides this, not the declared length. Bytes after the end of the
///   picture are kept.
///
/// All attempts end with
/// [`ClientBuilder::download_deadline`](crate::ClientBuilder::download_deadline).
#[derive(Clone)]
#[must_use = "the picture is billed: fetch it before its delivery URL expires"]
pub struct Picture {
    source: Arc<dyn Source>,
    task: TaskRef,
    address: Address,
    /// When the poll that returned the address was sent.
    polled_at: SystemTime,
    ready_since: SystemTime,
}

impl Picture {
    pub(crate) fn new(
        source: Arc<dyn Source>,
        task: TaskRef,
        address: Address,
        polled_at: SystemTime,
    ) -> Self {
        Self { source, task, address, polled_at, ready_since: polled_at }
    }

    fn downloads(&self) -> &Downloads {
        self.source.downloads()
    }

    /// Sets when the task was first seen as `Ready`, unless this picture is from an earlier poll.
    pub(crate) fn with_ready_since(mut self, first: SystemTime) -> Self {
        self.ready_since = self.polled_at.min(first);
        self
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
        self.ready_since
    }

    /// Returns when the picture expires: ten minutes after [`ready_since`](Self::ready_since).
    ///
    /// The contract does not define when a delivery URL is signed. A URL may expire earlier if the
    /// task was ready long before the first poll. It may work longer if the service signs a new one
    /// for each poll.
    pub fn expires_at(&self) -> SystemTime {
        self.ready_since.checked_add(DELIVERY_VALIDITY).unwrap_or(self.ready_since)
    }

    /// Downloads the picture into memory.
    ///
    /// # Errors
    ///
    /// Every error carries the reference of the task.
    ///
    /// - [`Expired`](crate::ErrorKind::Expired): the delivery host refused a URL that a poll had
    ///   returned after [`expires_at`](Self::expires_at).
    /// - [`Download`](crate::ErrorKind::Download): the picture could not be downloaded, or it is
    ///   larger than [`ClientBuilder::max_picture_bytes`](crate::ClientBuilder::max_picture_bytes).
    ///   This includes refusals that do not prove that the picture has expired.
    /// - [`AddressRefused`](crate::ErrorKind::AddressRefused): the host of the URL is not allowed
    ///   to deliver pictures.
    pub async fn bytes(&self) -> Result<Bytes, Error> {
        self.fetch(true).await
    }

    /// Downloads the content of the delivery URL without checking it.
    ///
    /// Use it for pictures that [`bytes`](Self::bytes) refuses. The size is still limited, and
    /// failed downloads are still retried.
    ///
    /// # Errors
    ///
    /// The same errors as [`bytes`](Self::bytes).
    pub async fn bytes_unchecked(&self) -> Result<Bytes, Error> {
        self.fetch(false).await
    }

    async fn fetch(&self, check: bool) -> Result<Bytes, Error> {
        let fetching = self.attempt(|opening| async move {
            let mut download = opening.await?;
            let mut bytes = Vec::new();
            while let Some(chunk) = download.next().await? {
                // Doubling a large buffer would take up to twice the memory of the picture.
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

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Picture")
            .field("task", &self.task)
            .field("address", &self.address)
            .field("expires_at", &self.expires_at())
            .finish()
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
    /// The directories in which leftover temporary files were deleted.
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

/// The client that a picture comes from.
pub(crate) trait Source: Send + Sync {
    fn downloads(&self) -> &Downloads;

    /// Waits for the picture of a task again, whose delivery URL may be another one now.
    fn again(
        self: Arc<Self>,
        task: TaskRef,
        ready_since: SystemTime,
        deadline: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<Picture, Error>> + Send>>;
}
