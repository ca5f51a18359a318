//! The tries to fetch a picture.

use std::time::Duration;

use tokio::time::{self, Instant};

use super::Picture;
use crate::{Error, ErrorKind, WaitOptions, transport::retry};

/// The first try and its retries.
const MAX_TRIES: u32 = 4;

/// How long the client polls for a fresh delivery URL.
const FRESH_URL_LIMIT: Duration = Duration::from_secs(30);

/// Why a try did not bring the picture.
pub(super) enum Failure {
    /// Another try may succeed.
    Transient(Error),
    /// The delivery URL was refused: a fresh one may be accepted.
    Refused(Error),
    /// Another try would fail as well.
    Permanent(Error),
}

impl Failure {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Transient(error) | Self::Refused(error) | Self::Permanent(error) => error,
        }
    }
}

/// Counts the tries, and moves on to a fresh delivery URL when one was refused.
pub(super) struct Tries {
    picture: Picture,
    made: u32,
    most: u32,
    /// When the last try must be at its end.
    pub(super) until: Instant,
}

impl Tries {
    pub(super) fn of(picture: &Picture) -> Self {
        let client = &picture.client;
        Self {
            picture: picture.clone(),
            made: 0,
            most: MAX_TRIES.min(client.service().retry.attempts),
            until: Instant::now() + client.deliveries().settings.deadline,
        }
    }

    /// The picture at the delivery URL that the next try should use.
    pub(super) fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Returns when it is time for another try, or with the error if there is none.
    pub(super) async fn again_after(&mut self, failure: Failure) -> Result<(), Error> {
        self.made += 1;
        let is_last = self.made >= self.most || Instant::now() >= self.until;
        let client = &self.picture.client;
        match failure {
            Failure::Refused(error) if !is_last => {
                self.picture = self.picture.at_fresh_url().await.ok_or(error)?;
            }
            Failure::Transient(error) if !is_last && client.deliveries().retries.take() => {
                tracing::debug!(
                    task_id = self.picture.task.id(),
                    tries = self.made,
                    kind = ?error.kind(),
                    "a download failed; retrying"
                );
                time::sleep(retry::delay(self.made, &client.service().random)).await;
            }
            failure => return Err(failure.into_error()),
        }
        Ok(())
    }
}

impl Picture {
    /// Some services sign a new delivery URL at each poll.
    async fn at_fresh_url(&self) -> Option<Picture> {
        let task = self.client.task(self.task.clone());
        let waiting = task.wait_with(WaitOptions::default().deadline(FRESH_URL_LIMIT));
        // Boxed: it is large and rarely needed.
        let fresh = Box::pin(waiting).await.ok()?;
        (fresh.address != self.address).then_some(fresh)
    }

    pub(super) fn failed(&self, what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Delivery, format!("could not fetch the picture: {}", what.into()))
            .with_advice(
                "the picture is paid for and ready; fetch it again before its delivery URL expires",
            )
            .with_task(&self.task)
    }
}
