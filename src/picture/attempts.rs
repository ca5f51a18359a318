//! The attempts to download a picture.

use std::{pin::Pin, time::Duration};

use tokio::time::{self, Instant};

use super::{
    Picture,
    download::{Download, DownloadFailure},
};
use crate::{
    Error,
    journal::{self, Step},
    retry::{Backoff, LONGEST_RETRY},
    telemetry,
    transport::middleware::{Purpose, Retry},
};

/// The first attempt and its retries.
const MAX_ATTEMPTS: u32 = 4;

/// How long the client polls for the current delivery URL after each refusal.
const FRESH_URL_LIMIT: Duration = Duration::from_secs(30);

/// Sends the request of an attempt, and waits for the response.
pub(super) type Opening = Pin<Box<dyn Future<Output = Result<Download, DownloadFailure>> + Send>>;

/// Counts the attempts, and polls for the current delivery URL after a refusal.
struct Attempts {
    picture: Picture,
    made: u32,
    most: u32,
    backoff: Backoff,
    /// After how many bytes the connection of the last attempt broke, if it did.
    broken_after: Option<u64>,
    /// The deadline of the last attempt.
    until: Instant,
}

impl Attempts {
    /// Waits until the next attempt is due. Returns the error if there is none.
    async fn again_after(&mut self, failure: DownloadFailure) -> Result<(), Error> {
        self.made += 1;
        let is_last = self.made >= self.most || self.left().is_zero();
        let (error, is_refusal) = match failure {
            DownloadFailure::NeedsFreshUrl(error) => {
                let Picture { task, polled, ready_since, .. } = &self.picture;
                let step = Step::Refused { given: polled.date, after: polled.since(ready_since) };
                journal::note(self.picture.downloads().journal.as_deref(), task, &step).await;
                (error, true)
            }
            DownloadFailure::Transient(error) => (error, false),
            DownloadFailure::Unreadable { error, broken_after, file } => {
                // A connection that breaks twice at the same byte does not break by chance.
                let is_damaged = broken_after.is_none_or(|bytes| bytes > 0)
                    && (broken_after.is_none() || broken_after == self.broken_after);
                self.broken_after = broken_after;
                (if is_damaged { error.of_damaged(file) } else { error }, false)
            }
            DownloadFailure::Permanent(error) => return Err(error),
        };
        if is_last {
            return Err(error);
        }
        // The retries that all downloads share protect a host that is overloaded. Without one, the
        // pause is the longest; giving up could lose a paid picture.
        let has_retry = is_refusal || self.picture.downloads().retries.take();
        self.pause(&error, has_retry).await;
        if is_refusal {
            // Some services sign a URL for each poll. A poll that fails says nothing about the
            // picture, so the URL stays as it is.
            let Picture { source, task, ready_since, .. } = self.picture.clone();
            let waiting = source.again(task, ready_since, self.left().min(FRESH_URL_LIMIT));
            if let Ok(picture) = waiting.await {
                self.picture = picture;
            }
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
    /// Makes attempts in a span of their own, until one succeeds.
    pub(super) async fn attempt<T, F>(&self, attempt: impl Fn(Opening) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, DownloadFailure>>,
    {
        let downloads = self.downloads();
        let mut attempts = Attempts {
            picture: self.clone(),
            made: 0,
            most: MAX_ATTEMPTS.min(downloads.service.retry.attempts),
            backoff: Backoff::of_retries(),
            broken_after: None,
            until: Instant::now() + downloads.settings.deadline,
        };
        let attempting = async {
            loop {
                let opening = attempts.picture.clone().open(attempts.made, attempts.until);
                match attempt(Box::pin(opening)).await {
                    Ok(outcome) => return Ok(outcome),
                    Err(failure) => attempts.again_after(failure).await?,
                }
            }
        };
        telemetry::run_download(&self.task, attempting).await
    }
}
