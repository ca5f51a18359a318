//! Pauses between attempts, which become longer.

use std::time::Duration;

/// Pauses of which each is twice as long as the one before, up to the longest.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first }
    }

    /// Returns the pause before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }

    /// Starts again with the first pause.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let mut pauses = || [(); 5].map(|()| backoff.next().as_secs());
        assert_eq!(pauses(), [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.next(), Duration::from_secs(1));
    }
}
