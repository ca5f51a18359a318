//! The picture of a task that is ready: its delivery URL, how long that is valid, and how the
//! picture is fetched.

mod deliveries;
mod download;
mod name;
mod options;
mod part;
mod place;
mod refusal;
mod save;
mod stream;
mod tries;
mod whole;

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use tokio::time::Instant;

pub(crate) use deliveries::{Deliveries, DeliverySettings};
pub use options::SaveOptions;
use part::Swept;
pub use save::Saved;
pub use stream::PictureStream;

use crate::{Address, Client, Error, TaskRef};
use tries::{Failure, Tries};

/// How long a delivery URL is valid (Limits of the contract).
pub const DELIVERY_VALIDITY: Duration = Duration::from_secs(600);

/// The picture of a task whose status is `Ready`. Its signed delivery URL is valid for ten minutes:
/// fetch it soon.
///
/// A download that fails is retried, up to four tries in all. The next try uses a fresh delivery
/// URL if the service refuses the one it had and signs a new one. A try fails if the download
/// stalls (less than 1 KiB within
/// [`ClientBuilder::silence_timeout`](crate::ClientBuilder::silence_timeout), unless that was the
/// rest of the picture), or if the response is not a picture or only a part of one. All tries end
/// with [`ClientBuilder::download_deadline`](crate::ClientBuilder::download_deadline). The structure of the file decides that, not the length that the server
/// declares: bytes after the end of the picture are kept and do no harm.
///
/// Anyone who has the delivery URL can fetch the picture, so `Debug` prints it without its query.
#[derive(Clone)]
#[must_use = "the picture is paid for: fetch it before its delivery URL expires"]
pub struct Picture {
    client: Client,
    task: TaskRef,
    address: Address,
    expires_at: SystemTime,
}

impl Picture {
    pub(crate) fn new(
        client: Client,
        task: TaskRef,
        address: Address,
        asked_at: SystemTime,
    ) -> Self {
        Self { client, task, address, expires_at: asked_at + DELIVERY_VALIDITY }
    }

    /// The task that this is the picture of.
    pub fn task(&self) -> &TaskRef {
        &self.task
    }

    /// The signed delivery URL.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// When the delivery URL expires: ten minutes after the poll that saw it was sent. The contract
    /// does not say when a URL is signed. If that is when the task became ready, it expires earlier
    /// by as much as the task was ready before the poll.
    pub fn expires_at(&self) -> SystemTime {
        self.expires_at
    }

    /// Fetches the picture into memory.
    ///
    /// # Errors
    ///
    /// Kind [`Expired`](crate::ErrorKind::Expired): the delivery URL is no longer valid, and
    /// polling gave no fresh one. Kind [`Delivery`](crate::ErrorKind::Delivery): the picture could
    /// not be fetched, or it is larger than
    /// [`ClientBuilder::max_picture_bytes`](crate::ClientBuilder::max_picture_bytes). Kind
    /// [`AddressRefused`](crate::ErrorKind::AddressRefused): its host is not allowed to deliver.
    /// Each carries the task's reference.
    pub async fn bytes(&self) -> Result<Bytes, Error> {
        self.fetch(true).await
    }

    /// Fetches whatever the delivery URL has, without checking that it is a whole picture of a
    /// known kind: for pictures that [`bytes`](Self::bytes) refuses. The size is bounded and failed
    /// downloads are retried all the same.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes).
    pub async fn bytes_unchecked(&self) -> Result<Bytes, Error> {
        self.fetch(false).await
    }

    async fn fetch(&self, check: bool) -> Result<Bytes, Error> {
        let mut tries = Tries::of(self);
        loop {
            match tries.picture().fetch_once(check, tries.until).await {
                Ok(bytes) => return Ok(bytes),
                Err(failure) => tries.again_after(failure).await?,
            }
        }
    }

    async fn fetch_once(&self, check: bool, until: Instant) -> Result<Bytes, Failure> {
        let mut download = self.open(until).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = download.next().await? {
            bytes.extend_from_slice(&chunk);
        }
        if check {
            download.check()?;
        }
        Ok(bytes.into())
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Picture")
            .field("task", &self.task)
            .field("address", &self.address)
            .field("expires_at", &self.expires_at)
            .finish()
    }
}
