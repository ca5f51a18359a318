//! The attempts to download a picture.

use std::{sync::Arc, time::Duration};

use tokio::time::{self, Instant};

use super::{Picture, download::Download};
use crate::{
    Error, ErrorKind,
    journal::{self, Step},
    transport::{
        middleware::{Purpose, Retry},
        retry,
    },
};

/// The first attempt and its retries.
const MAX_ATTEMPTS: u32 = 4;

/// How long the client polls for the current delivery URL after each refusal.
const FRESH_URL_LIMIT: Duration = Duration::from_secs(30);

/// Why an attempt failed.
pub(super) enum DownloadFailure {
    /// Another attempt may succeed.
    Transient(Error),
    /// The delivery URL was refused. The one that the next poll returns may be accepted.
    NeedsFreshUrl(Error),
    /// Another attempt would fail, too.
    Permanent(Error),
}

impl DownloadFailure {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Transient(error) | Self::NeedsFreshUrl(error) | Self::Permanent(error) => error,
        }
    }
}

/// Counts the attempts, and polls for the current delivery URL after a refusal.
pub(super) struct Attempts {
    picture: Picture,
    made: u32,
    most: u32,
    /// The deadline of the last attempt.
    until: Instant,
}

impl Attempts {
    pub(super) fn of(picture: &Picture) -> Self {
        let downloads = picture.downloads();
        Self {
            picture: picture.clone(),
            made: 0,
            most: MAX_ATTEMPTS.min(downloads.service.retry.attempts),
            until: Instant::now() + downloads.settings.deadline,
        }
    }

    /// Returns the picture with the delivery URL for the next attempt.
    pub(super) fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Sends the request of the next attempt and waits for the response.
    pub(super) async fn open(&self) -> Result<Download, DownloadFailure> {
        self.picture.open(self.made, self.until).await
    }

    /// Waits until the next attempt is due. Returns the error if there is none.
    pub(super) async fn again_after(&mut self, failure: DownloadFailure) -> Result<(), Error> {
        self.made += 1;
        let is_last = self.made >= self.most || self.left().is_zero();
        if let DownloadFailure::NeedsFreshUrl(_) = &failure {
            let Picture { task, polled_at, .. } = &self.picture;
            let step = Step::Refused { given_at: *polled_at };
            journal::note(self.picture.downloads().journal.as_deref(), task, &step).await;
        }
        let (error, is_refusal) = match failure {
            // Not limited by the retries that all downloads share: those protect a host that is
            // overloaded, and giving up after a refusal may look like the loss of a paid picture.
            DownloadFailure::NeedsFreshUrl(error) if !is_last => (error, true),
            DownloadFailure::Transient(error)
                if !is_last && self.picture.downloads().retries.take() =>
            {
                (error, false)
            }
            failure => return Err(failure.into_error()),
        };
        self.pause(&error).await;
        if is_refusal {
            self.picture = self.picture.at_current_url(self.left()).await;
        }
        if self.left().is_zero() { Err(error) } else { Ok(()) }
    }

    async fn pause(&self, error: &Error) {
        let (task, service) = (&self.picture.task, &self.picture.downloads().service);
        tracing::debug!(
            task_id = task.id(),
            attempts = self.made,
            kind = ?error.kind(),
            "download failed; retrying"
        );
        let wait = retry::delay(self.made, &service.random).min(self.left());
        service.middlewares.announce(&Retry {
            purpose: Purpose::Download,
            operation: task.operation(),
            task_id: Some(task.id()),
            failures: self.made,
            attempts: Some(self.most),
            wait,
            error,
        });
        time::sleep(wait).await;
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

impl Picture {
    /// Polls the task for its current delivery URL. Some services sign one for each poll. If the
    /// poll fails, that says nothing about the picture, so the URL stays as it is.
    async fn at_current_url(&self, left: Duration) -> Picture {
        let (source, limit) = (Arc::clone(&self.source), left.min(FRESH_URL_LIMIT));
        let waiting = source.again(self.task.clone(), self.ready_since, limit);
        waiting.await.unwrap_or_else(|_| self.clone())
    }

    pub(super) fn failed(&self, what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Download, format!("could not fetch the picture: {}", what.into()))
            .with_advice(
                "the picture is billed and ready; fetch it again before its delivery URL expires",
            )
            .with_task(&self.task)
    }
}
