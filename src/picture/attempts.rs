//! The attempts to download a picture.

use std::{sync::Arc, time::Duration};

use tokio::time::{self, Instant};

use super::{
    Picture,
    download::{Download, DownloadFailure},
};
use crate::{
    Error,
    journal::{self, Step},
    retry::backoff::{Backoff, LONGEST_RETRY},
    transport::middleware::{Purpose, Retry},
};

/// The first attempt and its retries.
const MAX_ATTEMPTS: u32 = 4;

/// How long the client polls for the current delivery URL after each refusal.
const FRESH_URL_LIMIT: Duration = Duration::from_secs(30);

/// Counts the attempts, and polls for the current delivery URL after a refusal.
pub(super) struct Attempts {
    picture: Picture,
    made: u32,
    most: u32,
    backoff: Backoff,
    /// The deadline of the last attempt.
    until: Instant,
}

impl Attempts {
    pub(super) fn of(picture: &Picture) -> Self {
        let downloads = picture.downloads();
        Self {
            picture: picture.clone(),
            made: 0,
            backoff: Backoff::of_retries(),
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
            DownloadFailure::NeedsFreshUrl(error) if !is_last => (error, true),
            DownloadFailure::Transient(error) if !is_last => (error, false),
            failure => return Err(failure.into_error()),
        };
        // The retries that all downloads share protect a host that is overloaded. Without one, the
        // pause is the longest; giving up could lose a paid picture.
        let has_retry = is_refusal || self.picture.downloads().retries.take();
        self.pause(&error, has_retry).await;
        if is_refusal {
            self.picture = self.picture.at_current_url(self.left()).await;
        }
        if self.left().is_zero() { Err(error) } else { Ok(()) }
    }

    async fn pause(&mut self, error: &Error, has_retry: bool) {
        let (task, service) = (&self.picture.task, &self.picture.downloads().service);
        tracing::debug!(
            task_id = task.id(),
            attempts = self.made,
            kind = ?error.kind(),
            "download failed; retrying"
        );
        let wait = if has_retry { self.backoff.pause() } else { LONGEST_RETRY };
        let wait = service.random.spread(wait).min(self.left());
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
}
