//! Growing pauses between attempts, and random jitter, which tests can seed.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The bounds of the jitter added to `Retry-After`, so that clients refused at the same time do not
/// return at the same time.
const MIN_JITTER: Duration = Duration::from_millis(100);
const MAX_JITTER: Duration = Duration::from_secs(5);

/// The first and the longest pause between the attempts of a submission, a download or the
/// confirmation of an event.
const FIRST_RETRY: Duration = Duration::from_millis(500);
pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Pauses that grow from the first to the longest, for loops that try something again.
///
/// Each pause is twice as long as the one before it. The pauses have no jitter.
///
/// ```
/// use std::time::Duration;
/// let mut backoff = imagekiln::Backoff::new(Duration::from_secs(1), Duration::from_secs(3));
/// let pauses = [backoff.pause(), backoff.pause(), backoff.pause()];
/// assert_eq!(pauses, [1, 2, 3].map(Duration::from_secs));
/// ```
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    next: Duration,
    longest: Duration,
    growth: f64,
}

impl Backoff {
    /// Creates a backoff from its first and its longest pause.
    pub fn new(first: Duration, longest: Duration) -> Self {
        let first = first.min(longest);
        Self { first, next: first, longest, growth: 2.0 }
    }

    /// Returns the pauses between the attempts of a request.
    pub(crate) fn of_retries() -> Self {
        Self::new(FIRST_RETRY, LONGEST_RETRY)
    }

    pub(crate) fn with_growth(self, growth: f64) -> Self {
        Self { growth, ..self }
    }

    /// Returns the next pause.
    pub fn pause(&mut self) -> Duration {
        let grown = Duration::try_from_secs_f64(self.next.as_secs_f64() * self.growth);
        std::mem::replace(&mut self.next, grown.unwrap_or(self.longest).min(self.longest))
    }

    /// Starts again with the first pause.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

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
    fn pauses_grow_to_the_longest() {
        let mut backoff = Backoff::of_retries();
        let seconds: Vec<f64> = (0..9).map(|_| backoff.pause().as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]);
        backoff.reset();
        assert_eq!(backoff.pause(), FIRST_RETRY);
        let mut endless = Backoff::new(Duration::MAX, Duration::MAX);
        assert_eq!([endless.pause(), endless.pause()], [Duration::MAX; 2]);
    }

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
