//! How long a wait lasts, and how often it polls.

use std::time::Duration;

/// Options for waiting for a task.
///
/// ```
/// use std::time::Duration;
/// let options = imagekiln::WaitOptions::default().deadline(Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct WaitOptions {
    pub(super) deadline: Duration,
    pub(super) interval: Duration,
    pub(super) max_interval: Duration,
}

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(600),
            interval: Duration::from_millis(500),
            max_interval: Duration::from_secs(5),
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

    /// Sets the time between the first two polls. The default is 500 milliseconds; the minimum is
    /// 10 milliseconds.
    ///
    /// The interval grows by half with each poll.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the maximum time between two polls. The default is five seconds; the maximum is one
    /// day.
    ///
    /// Each pause is chosen randomly between half of the interval and the interval. If the service
    /// asks for a longer pause (`Retry-After`), the client waits that long, up to two minutes, plus
    /// a random addition that keeps many clients from returning at once.
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = interval;
        self
    }
}

#[cfg(feature = "axum")]
impl WaitOptions {
    pub(crate) fn longest(&self) -> Duration {
        self.deadline
    }
}
