//! The time until which a worker may submit jobs, on a clock that continues while the machine is
//! suspended.

use std::time::Duration;

/// The end of a lease, on the clock of this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    until: Duration,
}

impl Lease {
    /// Creates a lease that starts now. Call this before the database renews the lease, so that the
    /// lease in the database ends later.
    pub(super) fn starting_now(length: Duration) -> Self {
        Self { until: now() + length }
    }

    pub(super) fn has_expired(self) -> bool {
        now() >= self.until
    }
}

/// Returns the time since the machine started, including the time for which it was suspended.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn now() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Returns the time of day, which continues while the machine is suspended. If somebody turns the
/// clock back, a lease ends later.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::disallowed_methods, reason = "leases end by the clock of the machine")]
fn now() -> Duration {
    use std::time::{SystemTime, UNIX_EPOCH};
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
