//! When and how long to wait before another attempt: the growing delay, the service's own word, and a budget that keeps
//! many callers from storming a service that is down.

use std::{
    sync::Mutex,
    time::{Duration, SystemTime},
};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Attempts of one submission: the first, and what follows after a refused connection or a 429.
pub(crate) const MAX_ATTEMPTS: u32 = 6;

const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// What the service asked us to wait: seconds, or a date (RFC 9110, 10.2.3).
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match value.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        // A date that is past asks for no wait.
        Err(_) => Some(httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()),
    }
}

/// The delay before the attempt after `attempt` (1 for the first): doubled each time, and spread over half of it so that
/// callers who failed together do not come back together.
pub(crate) fn delay(attempt: u32, random: &Random) -> Duration {
    let full = FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(LONGEST_DELAY);
    random.spread(full)
}

/// Randomness that tests can seed.
#[derive(Debug)]
pub(crate) struct Random(Mutex<fastrand::Rng>);

impl Random {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed)))
    }

    /// Between half of `full` and all of it.
    pub(crate) fn spread(&self, full: Duration) -> Duration {
        let share = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).f64();
        full.mul_f64(0.5 + share / 2.0)
    }
}

/// A bucket of retries that all requests of a client share: a retry takes a token, a success gives half of one back.
#[derive(Debug)]
pub(crate) struct RetryBudget(Mutex<u32>);

/// In half tokens. A client that only fails may retry this often in all.
const FULL: u32 = 2 * 50;

impl RetryBudget {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(FULL))
    }

    /// Whether another retry is within the budget.
    pub(crate) fn take(&self) -> bool {
        let mut left = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let enough = *left >= 2;
        if enough {
            *left -= 2;
        }
        enough
    }

    pub(crate) fn succeeded(&self) {
        let mut left = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *left = (*left + 1).min(FULL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_forms_of_retry_after() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let asked = |value: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
            retry_after(&headers, now)
        };
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert_eq!(
            asked(&httpdate::fmt_http_date(now + Duration::from_secs(90))),
            Some(Duration::from_secs(90))
        );
        assert_eq!(asked(&httpdate::fmt_http_date(now - Duration::from_secs(90))), Some(Duration::ZERO));
        assert_eq!(asked("soon"), None);
        assert_eq!(asked("-1"), None);
    }

    #[test]
    fn the_budget_runs_out_and_recovers() {
        let budget = RetryBudget::new();
        assert_eq!((0..200).filter(|_| budget.take()).count(), 50);
        budget.succeeded();
        assert!(!budget.take());
        budget.succeeded();
        assert!(budget.take());
    }

    #[test]
    fn delays_grow_to_their_bound() {
        let random = Random::new(Some(1));
        for attempt in 1..100 {
            let delay = delay(attempt, &random);
            assert!(delay >= FIRST_DELAY / 2 && delay <= LONGEST_DELAY, "{delay:?}");
        }
    }
}
