//! The picture of a task that is ready: where it lies, until when, and how it is fetched.

mod save;

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use tokio::time;

pub use save::Saved;

use crate::{Address, Client, Error, ErrorKind, FileKind, TaskRef, transport::retry, values::file_kind};

/// How long a delivery address is valid (Limits of the contract).
pub const DELIVERY_VALIDITY: Duration = Duration::from_secs(600);

/// The first try, and what follows after a download that broke.
const MAX_TRIES: u32 = 4;

/// The picture of a task whose status is `Ready`. It lies at a signed delivery address for ten minutes: fetch it soon.
///
/// Whoever has the address has the picture, so `Debug` prints it without its query.
#[derive(Clone)]
pub struct Picture {
    client: Client,
    task: TaskRef,
    address: Address,
    expires_at: SystemTime,
}

impl Picture {
    pub(crate) fn new(client: Client, task: TaskRef, address: Address, asked_at: SystemTime) -> Self {
        Self { client, task, address, expires_at: asked_at + DELIVERY_VALIDITY }
    }

    /// The task whose picture it is.
    pub fn task(&self) -> &TaskRef {
        &self.task
    }

    /// The signed delivery address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// When the delivery address ceases to be valid: ten minutes after the poll that saw it was sent. The contract does
    /// not say when an address is signed; if that is when the task became ready, it ends earlier by as much as the task
    /// was ready before the poll.
    pub fn expires_at(&self) -> SystemTime {
        self.expires_at
    }

    /// Fetches the picture into memory.
    ///
    /// # Errors
    ///
    /// Kinds [`Expired`](ErrorKind::Expired), [`Delivery`](ErrorKind::Delivery): each carries the task's reference.
    pub async fn bytes(&self) -> Result<Bytes, Error> {
        let mut tries = Tries::of(self);
        loop {
            match tries.picture.bytes_once().await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => tries.again_after(error).await?,
            }
        }
    }

    async fn bytes_once(&self) -> Result<Bytes, Error> {
        let mut bytes = Vec::new();
        let mut download = self.open().await?;
        while let Some(chunk) = download.next().await? {
            bytes.extend_from_slice(&chunk);
        }
        download.finish(
            &bytes[..bytes.len().min(file_kind::HEAD)],
            &bytes[bytes.len().saturating_sub(file_kind::TAIL)..],
        )?;
        Ok(bytes.into())
    }

    /// A service that signs anew at each poll gives an expired picture a second life.
    async fn at_fresh_address(&self) -> Option<Picture> {
        let update = self.client.task(self.task.clone()).poll().await.ok()?;
        update.picture().filter(|picture| picture.address != self.address).cloned()
    }

    async fn open(&self) -> Result<Download<'_>, Error> {
        let url = self
            .address
            .parse()
            .map_err(|error| self.failed("its delivery address is no URL").caused_by(error))?;
        // The delivery client never has the key: the signature is the right to the picture.
        let response =
            match time::timeout(self.client.0.silence, self.client.0.delivery.get(url).send()).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => {
                    return Err(self
                        .failed("the delivery address could not be reached")
                        .caused_by(error.without_url()));
                }
                Err(_) => return Err(self.failed("the delivery address was silent")),
            };
        let status = response.status();
        let overdue = self.client.0.clock.now() >= self.expires_at;
        match status {
            StatusCode::OK => {
                Ok(Download { picture: self, length: response.content_length(), received: 0, response })
            }
            StatusCode::GONE => Err(self.expired(status)),
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND if overdue => {
                Err(self.expired(status))
            }
            _ => Err(self
                .failed(format!("the delivery address answered {status}"))
                .with_status(status.as_u16())),
        }
    }

    fn expired(&self, status: StatusCode) -> Error {
        Error::new(
            ErrorKind::Expired,
            format!("the delivery address {} is no longer valid ({})", self.address, status.as_u16()),
        )
        .advice("it is valid for ten minutes; poll the task again, which may give a fresh one")
        .with_status(status.as_u16())
        .with_task(&self.task)
    }

    fn failed(&self, what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Delivery, format!("the picture could not be fetched: {}", what.into()))
            .advice("it is paid and ready: fetch it again within ten minutes")
            .with_task(&self.task)
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

/// The tries to fetch a picture: again after a download that broke, and at a fresh address after one that expired.
struct Tries {
    picture: Picture,
    made: u32,
}

impl Tries {
    fn of(picture: &Picture) -> Self {
        Self { picture: picture.clone(), made: 0 }
    }

    /// Returns when it is time for another try, or with the error where there is none.
    async fn again_after(&mut self, error: Error) -> Result<(), Error> {
        self.made += 1;
        if self.made == MAX_TRIES {
            return Err(error);
        }
        // Refused before its time: it may have been signed long before it was polled.
        if error.kind() == ErrorKind::Expired || matches!(error.status(), Some(401 | 403)) {
            self.picture = self.picture.at_fresh_address().await.ok_or(error)?;
            return Ok(());
        }
        let client = &self.picture.client;
        if error.kind() != ErrorKind::Delivery || !client.0.download_retries.take() {
            return Err(error);
        }
        tracing::debug!(
            task_id = self.picture.task.id(),
            tries = self.made,
            "a download failed; fetching again"
        );
        time::sleep(retry::delay(self.made, &client.0.random)).await;
        Ok(())
    }
}

/// A download under way, counting what came.
struct Download<'a> {
    picture: &'a Picture,
    response: Response,
    length: Option<u64>,
    received: u64,
}

impl Download<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let chunk = match time::timeout(self.picture.client.0.silence, self.response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => {
                return Err(self.picture.failed("the download broke off").caused_by(error.without_url()));
            }
            Err(_) => return Err(self.picture.failed("the delivery address fell silent")),
        };
        self.received += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Ok(chunk)
    }

    /// Whether what came is a whole picture, judged by its length, its first bytes and its last.
    fn finish(&self, head: &[u8], tail: &[u8]) -> Result<FileKind, Error> {
        if let Some(length) = self.length.filter(|length| *length != self.received) {
            return Err(self.picture.failed(format!("{} of {length} bytes came", self.received)));
        }
        let Some(kind) = FileKind::of(head) else {
            let declared = self
                .response
                .headers()
                .get(CONTENT_TYPE)
                .and_then(|value| value.to_str().ok())
                .unwrap_or("none");
            let declared: String = declared.chars().take(60).collect();
            return Err(self.picture.failed(format!(
                "what came is no picture ({} bytes, content type {declared})",
                self.received
            )));
        };
        // Without a declared length a connection that closed early looks like the end.
        if self.length.is_none() && !kind.is_whole(head, tail, self.received) {
            return Err(self
                .picture
                .failed(format!("the {kind} ends in the middle, after {} bytes", self.received)));
        }
        Ok(kind)
    }
}
