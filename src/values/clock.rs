//! The wall clock of a client, and the moments at which it sends polls.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

/// The duration that stands for "no limit": ten years. A much larger duration would overflow an
/// `Instant`.
pub(crate) const NO_LIMIT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The wall clock of a client: the system clock, or the clock that the program has injected. People
/// and programs set the system clock, so it does not prove how much time has passed. Delays and
/// deadlines use tokio's clock instead.
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

/// When a poll was sent, by up to three clocks. People and programs set the clock of a machine, so
/// this clock does not prove how much time has passed between two polls. The clock of the service
/// does, and so does the monotonic clock within one process.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    /// The time by the clock of this machine.
    pub(crate) at: SystemTime,
    /// The time by the clock of the service: the `Date` header of its response, if it had one.
    pub(crate) date: Option<SystemTime>,
    /// The time by the monotonic clock of this process. `None` if another process sent the poll.
    pub(crate) instant: Option<Instant>,
}

/// Prints the time by the clock of this machine.
impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.at.fmt(f)
    }
}

impl Moment {
    pub(crate) fn now(at: SystemTime) -> Self {
        Self { at, date: None, instant: Some(Instant::now()) }
    }

    /// Returns the earlier one of the two times, for each clock separately.
    pub(crate) fn earlier(self, other: Self) -> Self {
        Self {
            at: self.at.min(other.at),
            date: self.date.into_iter().chain(other.date).min(),
            instant: self.instant.into_iter().chain(other.instant).min(),
        }
    }

    /// Returns how much time has certainly passed since the other moment, by the clock of the
    /// service or by the monotonic clock. Zero if neither clock has both times.
    pub(crate) fn since(&self, other: &Self) -> Duration {
        let dates = self.date.zip(other.date);
        let dates = dates.and_then(|(later, earlier)| later.duration_since(earlier).ok());
        let instants = self.instant.zip(other.instant);
        let instants = instants.map(|(later, earlier)| later.duration_since(earlier));
        dates.into_iter().chain(instants).max().unwrap_or_default()
    }
}
