//! The options of submissions and waits.

use std::time::Duration;

use crate::{journal::Origin, values::NO_LIMIT};

/// Options for a submission.
///
/// ```
/// use std::time::Duration;
/// # use imagekiln::{Client, Error, SubmitOptions, types::Gen2Pro};
/// # async fn submit(client: Client) -> Result<(), Error> {
/// let options = SubmitOptions::default().deadline(Duration::from_secs(30)).origin("fox-7");
/// let task = client.submit_with(Gen2Pro::new("a red fox in the snow"), options).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SubmitOptions {
    pub(super) deadline: Option<Duration>,
    pub(crate) origin: Origin,
    pub(super) waits_for_slot: bool,
}

impl Default for SubmitOptions {
    fn default() -> Self {
        Self { deadline: None, origin: Origin::default(), waits_for_slot: true }
    }
}

impl SubmitOptions {
    /// Sets the maximum duration of the submission: waiting for a slot, connecting, sending and
    /// retrying. The default is that of
    /// [`ClientBuilder::submit_deadline`](crate::ClientBuilder::submit_deadline), or no deadline.
    ///
    /// - Until the deadline, the client retries a submission that the service refuses because of
    ///   too many requests or active tasks (429), regardless of
    ///   [`RetryPolicy::attempts`](crate::RetryPolicy::attempts).
    /// - If the request was not sent completely at the deadline, the client cancels it, and nothing
    ///   is billed.
    /// - If the request was sent completely, only the response tells whether it was billed. The
    ///   call waits five more seconds for the response, and then fails with unknown billing. The
    ///   submission continues in the background. If the service accepts it,
    ///   [`Client::drain`](crate::Client::drain) returns the task.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline.min(NO_LIMIT));
        self
    }

    /// Sets what the submission is for: a text, which becomes the label, or an [`Origin`].
    ///
    /// The client writes the origin to the [journal](crate::journal), and never sends it to the
    /// service. After a crash, [`Client::resume`](crate::Client::resume) returns the origin with
    /// the record. Without a journal, the origin has no effect.
    pub fn origin(mut self, origin: impl Into<Origin>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Sets whether the submission waits for a slot. The default is `true`.
    ///
    /// If `false`, and [`max_active`](crate::ClientBuilder::max_active) tasks are active, the
    /// submission fails with kind [`RateLimited`](crate::ErrorKind::RateLimited) and without a
    /// status code, and nothing was sent. If `max_active` is not set, the client sends the request
    /// without waiting for a slot, and retries it after a delay if the service refuses it.
    pub fn wait_for_slot(mut self, on: bool) -> Self {
        self.waits_for_slot = on;
        self
    }
}

/// Options for waiting for a task.
///
/// ```
/// use std::time::Duration;
/// let options = imagekiln::WaitOptions::default().deadline(Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct WaitOptions {
    pub(crate) deadline: Duration,
    pub(super) interval: Option<Duration>,
    pub(super) max_interval: Option<Duration>,
    /// Whether the client polls immediately when the wait begins.
    pub(crate) is_urgent: bool,
    /// Whether a response ends the wait even if it contradicts earlier responses, for a caller that
    /// decides itself whether to believe it.
    pub(crate) believes: bool,
}

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(600),
            interval: None,
            max_interval: None,
            is_urgent: false,
            believes: false,
        }
    }
}

impl WaitOptions {
    /// Sets the maximum duration of the wait. The default is ten minutes.
    ///
    /// The last poll is sent shortly before the deadline, and no poll continues after it.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Polls at this interval, and immediately when the wait begins. The minimum is 10
    /// milliseconds, the maximum is one day.
    ///
    /// Without an interval, the client polls when the task is probably ready, because it remembers
    /// how long the last tasks of the same operation took. With an interval, the client ignores
    /// these durations. The interval grows by half with each poll, up to five seconds or
    /// [`max_interval`](Self::max_interval). Each pause is random, between half of the interval and
    /// the interval.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }

    /// Sets the maximum time between two polls. The minimum is 10 milliseconds. Without this
    /// maximum and without an [`interval`](Self::interval), the client waits longer between polls
    /// the longer the task is in progress.
    ///
    /// If the service asks for a longer pause (`Retry-After`), the client waits that long, up to
    /// [`RetryPolicy::longest_retry_after`](crate::RetryPolicy::longest_retry_after), plus a random
    /// addition that keeps many clients from returning at once.
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = Some(interval);
        self
    }
}
