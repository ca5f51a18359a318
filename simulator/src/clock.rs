//! The simulator's own time: the one place that asks what time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A handle to the simulator's clock. Clones share the same clock.
///
/// The clock follows [`tokio::time::Instant`], so it stands still on a runtime whose time is paused, and it can be
/// moved forward with [`advance`](Clock::advance). It never runs backwards: results that have expired stay expired.
#[derive(Clone, Debug)]
pub struct Clock {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    started: Instant,
    started_unix: Duration,
    skipped_nanos: AtomicU64,
}

impl Clock {
    /// A clock that stands at zero now, and whose wall-clock time is this machine's.
    #[allow(clippy::disallowed_methods, reason = "this is where the time comes from")]
    pub(crate) fn start() -> Self {
        let started_unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            inner: Arc::new(Inner {
                started: Instant::now(),
                started_unix,
                skipped_nanos: AtomicU64::new(0),
            }),
        }
    }

    /// Time since the simulator started, with everything skipped by [`advance`](Clock::advance).
    pub fn now(&self) -> Duration {
        let skipped = Duration::from_nanos(self.inner.skipped_nanos.load(Ordering::Relaxed));
        self.inner.started.elapsed().saturating_add(skipped)
    }

    /// Time since 1970-01-01 00:00 UTC by this clock.
    pub fn unix_now(&self) -> Duration {
        self.unix_at(self.now())
    }

    /// Moves the clock forward by `step`. Steps add up to 584 years at most; further ones change nothing.
    pub fn advance(&self, step: Duration) {
        let nanos = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        let mut seen = self.inner.skipped_nanos.load(Ordering::Relaxed);
        while let Err(other) = self.inner.skipped_nanos.compare_exchange_weak(
            seen,
            seen.saturating_add(nanos),
            Ordering::Relaxed,
            Ordering::Relaxed,
        ) {
            seen = other;
        }
    }

    /// Moves the clock forward until [`now`](Clock::now) is `moment`; does nothing if it is past that already.
    pub fn advance_to(&self, moment: Duration) {
        self.advance(moment.saturating_sub(self.now()));
    }

    /// What `moment` on this clock is since 1970-01-01 00:00 UTC.
    pub(crate) fn unix_at(&self, moment: Duration) -> Duration {
        self.inner.started_unix.saturating_add(moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn follows_tokio_and_skips_forward_only() {
        let clock = Clock::start();
        assert_eq!(clock.now(), Duration::ZERO);
        tokio::time::advance(Duration::from_secs(3)).await;
        clock.advance(Duration::from_secs(4));
        assert_eq!(clock.now(), Duration::from_secs(7));
        clock.advance_to(Duration::from_secs(5));
        assert_eq!(clock.now(), Duration::from_secs(7));
        clock.clone().advance_to(Duration::from_secs(9));
        assert_eq!(clock.now(), Duration::from_secs(9));
    }

    #[tokio::test(start_paused = true)]
    async fn absurd_steps_do_not_overflow() {
        let clock = Clock::start();
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        assert!(clock.unix_now() > clock.now());
    }
}
