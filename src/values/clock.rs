//! The clocks of a client, and the moments of polls.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

/// Used as "no limit"; a much larger duration would overflow an `Instant`.
pub(crate) const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The wall clock of a client: the system clock, or an injected one. Somebody may set it, so it
/// proves nothing. Delays and deadlines use tokio's clock instead.
#[derive(Clone)]
pub(crate) struct WallClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl WallClock {
    pub(crate) fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl Default for WallClock {
    #[allow(clippy::disallowed_methods, reason = "this is where the clock is injected")]
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

/// When a poll was sent. People and programs set the clock of a machine, so it proves nothing: that
/// time has passed is shown by the clock of the service, or within one process.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    /// By the clock of this machine.
    pub(crate) at: SystemTime,
    /// By the clock of the service: the header `Date` of its response.
    pub(crate) date: Option<SystemTime>,
    /// In this process.
    pub(crate) instant: Option<Instant>,
}

/// The clock that people know.
impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.at.fmt(f)
    }
}

impl Moment {
    pub(crate) fn now(at: SystemTime) -> Self {
        Self { at, date: None, instant: Some(Instant::now()) }
    }

    /// The earlier one of two moments by each clock.
    pub(crate) fn earlier(self, other: Self) -> Self {
        Self {
            at: self.at.min(other.at),
            date: self.date.into_iter().chain(other.date).min(),
            instant: self.instant.into_iter().chain(other.instant).min(),
        }
    }

    /// How long after the other moment this one certainly is.
    pub(crate) fn since(&self, other: &Self) -> Duration {
        let dates = self.date.zip(other.date);
        let dates = dates.and_then(|(later, earlier)| later.duration_since(earlier).ok());
        let instants = self.instant.zip(other.instant);
        let instants = instants.map(|(later, earlier)| later.duration_since(earlier));
        dates.into_iter().chain(instants).max().unwrap_or_default()
    }
}
