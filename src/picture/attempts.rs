//! The attempts to download a picture: decides whether, when and from which URL the client tries
//! again.

use std::{pin::Pin, time::Duration};

use tokio::time::{self, Instant};

use super::{
    Picture,
    download::{Download, DownloadFailure},
};
use crate::{
    Error,
    journal::Step,
    retry::{Backoff, LONGEST_RETRY},
    telemetry,
    transport::middleware::{Purpose, Retry},
};

/// The first attempt and its retries.
const MAX_ATTEMPTS: u32 = 4;

/// How long the client polls for the current delivery URL after the delivery host has refused one.
const FRESH_URL_LIMIT: Duration = Duration::from_secs(30);

/// Sends the request of an attempt, and waits for the response.
pub(super) type Opening = Pin<Box<dyn Future<Output = Result<Download, DownloadFailure>> + Send>>;

/// Counts the attempts, and polls for the current delivery URL after the delivery host has refused
/// one.
struct Attempts {
    picture: Picture,
    made: u32,
    most: u32,
    backoff: Backoff,
    /// The number of bytes after which the connection of the last attempt broke, if it broke.
    broken_after: Option<u64>,
    /// The deadline of all attempts together.
    until: Instant,
}

impl Attempts {
    /// Waits until the next attempt is due. Returns the error if there is no further attempt.
    async fn again_after(&mut self, failure: DownloadFailure) -> Result<(), Error> {
        self.made += 1;
        let is_last = self.made >= self.most || self.left().is_zero();
        let (error, is_refusal) = match failure {
            DownloadFailure::NeedsFreshUrl(error) => {
                let Picture { polled, ready_since, .. } = &self.picture;
                let step = Step::Refused { given: polled.date, after: polled.since(ready_since) };
                self.picture.note(&step).await;
                (error, true)
            }
            DownloadFailure::Transient(error) => (error, false),
            DownloadFailure::Unreadable { error, broken_after, file } => {
                // If the connection breaks twice at the same byte, the cause is the delivery and
                // not the network.
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
        // All downloads share a retry budget, which protects an overloaded host. If the budget is
        // empty, the client pauses for the longest time but does not give up, because that could
        // lose a paid picture.
        let has_retry = is_refusal || self.picture.downloads().retries.take();
        self.pause(&error, has_retry).await;
        if is_refusal {
            // Some services sign a new URL for each poll. If this poll fails, that says nothing
            // about the picture, so the next attempt uses the old URL.
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
    /// Makes attempts in a tracing span, until one succeeds or no further attempt is allowed.
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
        telemetry::run(telemetry::download_span(&self.task), attempting).await
    }
}
