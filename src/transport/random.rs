//! Randomness that spreads delays, and that tests can seed.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Bounds of what is added to a `Retry-After`, so that callers who were refused together do not
/// come back together.
const LEAST_SPREAD: Duration = Duration::from_millis(100);
const MOST_SPREAD: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Random(Mutex<fastrand::Rng>);

impl Random {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed)))
    }

    /// Between half of `full` and all of it.
    pub(crate) fn spread(&self, full: Duration) -> Duration {
        full.mul_f64(0.5 + self.share() / 2.0)
    }

    /// No earlier than the service asked for, and up to a quarter later.
    pub(crate) fn after(&self, asked: Duration) -> Duration {
        let spread = (asked / 4).clamp(LEAST_SPREAD, MOST_SPREAD);
        asked.saturating_add(spread.mul_f64(self.share()))
    }

    fn share(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_service_asks_for_is_spread_a_little_later() {
        let random = Random::new(Some(1));
        for asked in [0, 1, 17, 120, 86_400].map(Duration::from_secs) {
            let delays: Vec<_> = (0..20).map(|_| random.after(asked)).collect();
            let spread = (asked / 4).clamp(LEAST_SPREAD, MOST_SPREAD);
            let range = asked..=asked + spread;
            assert!(delays.iter().all(|delay| range.contains(delay)), "{delays:?}");
            let (first, last) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
            assert!(*last - *first > spread / 2, "{delays:?}");
        }
    }
}
