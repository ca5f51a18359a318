//! The clocks of a ledger.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The clocks that a ledger reads in this process. Tests replace them.
#[doc(hidden)]
#[derive(Clone)]
pub struct Clocks {
    /// The time of day. A ledger in SQLite records its times from this clock. A ledger in
    /// PostgreSQL uses the clock of the server, which all workers share.
    pub wall: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// The clock for the lease of a worker. It must not stop while the machine is suspended: after
    /// a suspension, a worker would otherwise submit jobs although its lease has expired.
    pub lease: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Clocks {
    /// Returns the time of day in milliseconds since the Unix epoch.
    pub(in crate::ledger) fn milliseconds(&self) -> i64 {
        of_time((self.wall)())
    }
}

/// Converts a time to the form in which a ledger stores it: milliseconds since the Unix epoch.
pub(in crate::ledger) fn of_time(time: SystemTime) -> i64 {
    milliseconds(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

impl Default for Clocks {
    #[expect(clippy::disallowed_methods, reason = "this is where the clocks are injected")]
    fn default() -> Self {
        Self { wall: Arc::new(SystemTime::now), lease: Arc::new(uptime) }
    }
}

/// Converts a duration to milliseconds, at most half of the highest number, so that a time and a
/// duration can be added without an overflow.
pub(in crate::ledger) const fn milliseconds(duration: Duration) -> i64 {
    const LONGEST: i64 = i64::MAX / 2;
    let milliseconds = duration.as_millis();
    if milliseconds > LONGEST as u128 { LONGEST } else { milliseconds as i64 }
}

/// Converts milliseconds since the Unix epoch, as a ledger stores them, to a time.
pub(in crate::ledger) fn time_of(milliseconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(milliseconds.unsigned_abs())
}

/// Returns the time since the machine started, including the time for which it was suspended.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn uptime() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Returns the time of day, which continues while the machine is suspended. If somebody sets the
/// clock back, this process believes that its leases end later than they do.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::disallowed_methods, reason = "this is where the clocks are injected")]
fn uptime() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
