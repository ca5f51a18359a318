//! The attempts to download a picture.

use std::time::Duration;

use tokio::time::{self, Instant};

use super::{Picture, download::Download};
use crate::{
    Error, ErrorKind, WaitOptions,
    transport::{
        middleware::{Purpose, Retry},
        retry,
    },
};

/// The first attempt and its retries.
const MAX_ATTEMPTS: u32 = 4;

/// How long the client polls for a new delivery URL.
const FRESH_URL_LIMIT: Duration = Duration::from_secs(30);

/// Why an attempt failed.
pub(super) enum Failure {
    /// Another attempt may succeed.
    Transient(Error),
    /// The delivery URL was refused. A new one may be accepted.
    Refused(Error),
    /// Another attempt would fail, too.
    Permanent(Error),
}

impl Failure {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Transient(error) | Self::Refused(error) | Self::Permanent(error) => error,
        }
    }
}

/// Counts the attempts, and switches to a new delivery URL after a refusal.
pub(super) struct Attempts {
    picture: Picture,
    made: u32,
    most: u32,
    /// The deadline of the last attempt.
    until: Instant,
}

impl Attempts {
    pub(super) fn of(picture: &Picture) -> Self {
        let client = &picture.client;
        Self {
            picture: picture.clone(),
            made: 0,
            most: MAX_ATTEMPTS.min(client.service().retry.attempts),
            until: Instant::now() + client.deliveries().settings.deadline,
        }
    }

    /// Returns the picture with the delivery URL for the next attempt.
    pub(super) fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Sends the request of the next attempt and waits for the response.
    pub(super) async fn open(&self) -> Result<Download, Failure> {
        self.picture.open(self.made, self.until).await
    }

    /// Waits until the next attempt is due. Returns the error if there is none.
    pub(super) async fn again_after(&mut self, failure: Failure) -> Result<(), Error> {
        self.made += 1;
        let is_last = self.made >= self.most || Instant::now() >= self.until;
        let client = &self.picture.client;
        match failure {
            Failure::Refused(error) if !is_last => {
                let left = self.until.saturating_duration_since(Instant::now());
                self.picture = self.picture.at_fresh_url(left).await.ok_or(error)?;
            }
            Failure::Transient(error) if !is_last && client.deliveries().retries.take() => {
                tracing::debug!(
                    task_id = self.picture.task.id(),
                    attempts = self.made,
                    kind = ?error.kind(),
                    "download failed; retrying"
                );
                let delay = retry::delay(self.made, &client.service().random);
                let wait = delay.min(self.until.saturating_duration_since(Instant::now()));
                client.service().middlewares.announce(&Retry {
                    purpose: Purpose::Download,
                    operation: self.picture.task.operation(),
                    task_id: Some(self.picture.task.id()),
                    failures: self.made,
                    attempts: Some(self.most),
                    wait,
                    error: &error,
                });
                time::sleep(wait).await;
            }
            failure => return Err(failure.into_error()),
        }
        Ok(())
    }
}

impl Picture {
    /// Polls the task for a new delivery URL. Some services sign one for each poll.
    async fn at_fresh_url(&self, left: Duration) -> Option<Picture> {
        let task = self.client.task(self.task.clone());
        let waiting = task.wait_with(WaitOptions::default().deadline(left.min(FRESH_URL_LIMIT)));
        // Boxed because it is large and rarely needed.
        let fresh = Box::pin(waiting).await.ok()?;
        (fresh.address != self.address).then_some(fresh)
    }

    pub(super) fn failed(&self, what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Delivery, format!("could not fetch the picture: {}", what.into()))
            .with_advice(
                "the picture is billed and ready; fetch it again before its delivery URL expires",
            )
            .with_task(&self.task)
    }
}
