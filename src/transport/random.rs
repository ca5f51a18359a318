//! Random jitter for delays. Tests can seed it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The bounds of the jitter added to `Retry-After`, so that clients refused at the same time do not
/// return at the same time.
const MIN_JITTER: Duration = Duration::from_millis(100);
const MAX_JITTER: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Random(Mutex<fastrand::Rng>);

impl Random {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed)))
    }

    /// Returns a random duration between half of `full` and `full`.
    pub(crate) fn spread(&self, full: Duration) -> Duration {
        full.mul_f64(0.5 + self.fraction() / 2.0)
    }

    /// Returns `requested` plus random jitter of up to a quarter of it, within bounds.
    pub(crate) fn after(&self, requested: Duration) -> Duration {
        let jitter = (requested / 4).clamp(MIN_JITTER, MAX_JITTER);
        requested.saturating_add(jitter.mul_f64(self.fraction()))
    }

    fn fraction(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_added_to_the_requested_delay() {
        let random = Random::new(Some(1));
        for requested in [0, 1, 17, 120, 86_400].map(Duration::from_secs) {
            let delays: Vec<_> = (0..20).map(|_| random.after(requested)).collect();
            let jitter = (requested / 4).clamp(MIN_JITTER, MAX_JITTER);
            let range = requested..=requested + jitter;
            assert!(delays.iter().all(|delay| range.contains(delay)), "{delays:?}");
            let (first, last) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
            assert!(*last - *first > jitter / 2, "{delays:?}");
        }
    }
}
