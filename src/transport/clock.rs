//! The one place that asks what time it is.

use std::time::SystemTime;

use tokio::time::Instant;

/// Wall-clock time that runs with tokio's clock, so that tests which pause it or let it jump see dates that agree.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    started_at: SystemTime,
    started: Instant,
}

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "this is where the clock is injected")]
    pub(crate) fn start() -> Self {
        Self { started_at: SystemTime::now(), started: Instant::now() }
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.started_at + self.started.elapsed()
    }
}
