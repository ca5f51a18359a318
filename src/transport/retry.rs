//! When and how long to wait before another attempt: the growing delay, the service's own word, and a
//! budget that keeps many callers from storming a service that is down.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use tokio::time::Instant;

use super::random::Random;

/// How often the client tries, and how long it waits when the service asks it to wait.
///
/// A submission is sent again only if the service certainly did not take it, whatever the policy:
/// see [`Billing`](crate::Billing). Polls are repeated until the deadline of the wait.
///
/// ```
/// use std::time::Duration;
/// use imagekiln::{Client, RetryPolicy};
///
/// let policy = RetryPolicy::default().attempts(3).longest_retry_after(Duration::from_secs(30));
/// let builder = Client::builder().retry(policy);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct RetryPolicy {
    pub(crate) attempts: u32,
    pub(crate) longest_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 6, longest_retry_after: Duration::from_secs(120) }
    }
}

impl RetryPolicy {
    /// How often a submission is sent at most, and a picture fetched, the first attempt included; 6
    /// by default, at least 1. A picture is fetched at most 4 times.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The longest wait that the service can ask for with `Retry-After`; 2 minutes by default. If it
    /// asks for more, a submission fails with an error that says for how much, and a poll is
    /// repeated after this time.
    pub fn longest_retry_after(mut self, wait: Duration) -> Self {
        self.longest_retry_after = wait;
        self
    }
}

const FIRST_DELAY: Duration = Duration::from_millis(500);
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// What the service asked us to wait: seconds, or a date (RFC 9110, 10.2.3). A date counts from the
/// service's own clock, if the response tells it, because ours may be wrong.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let value = text(RETRY_AFTER)?;
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let sent = text(DATE).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    // A date that is past asks for no wait.
    Some(date.duration_since(sent).unwrap_or_default())
}

/// The delay before the attempt after `attempt` (1 for the first): doubled each time, and spread
/// over half of it so that callers who failed together do not come back together.
pub(crate) fn delay(attempt: u32, random: &Random) -> Duration {
    let full =
        FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(LONGEST_DELAY);
    random.spread(full)
}

/// The retries that all requests of one purpose share: submissions, polls or downloads. A retry
/// takes one, and time gives them back.
#[derive(Debug)]
pub(crate) struct RetryBudget(Mutex<Level>);

#[derive(Debug)]
struct Level {
    left: f64,
    at: Instant,
}

/// How often a client can retry at once.
const FULL: f64 = 50.0;

/// How long it takes until one retry comes back.
const REFILL: Duration = Duration::from_secs(2);

impl RetryBudget {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Level { left: FULL, at: Instant::now() }))
    }

    /// Whether another retry is within the budget.
    pub(crate) fn take(&self) -> bool {
        let mut level = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let refilled = now.duration_since(level.at).div_duration_f64(REFILL);
        *level = Level { left: (level.left + refilled).min(FULL), at: now };
        let enough = level.left >= 1.0;
        if enough {
            level.left -= 1.0;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    #[test]
    fn reads_both_forms_of_retry_after() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let date = |offset: i64| {
            let time =
                SystemTime::UNIX_EPOCH + Duration::from_secs((1_000_000_000 + offset) as u64);
            httpdate::fmt_http_date(time)
        };
        let asked = |value: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
            retry_after(&headers, now)
        };
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert_eq!(asked(&date(90)), Some(Duration::from_secs(90)));
        assert_eq!(asked(&date(-90)), Some(Duration::ZERO));
        assert_eq!(asked("soon"), None);
        assert_eq!(asked("-1"), None);
        let by_their_clock = HeaderMap::from_iter([
            (RETRY_AFTER, date(3690).parse().unwrap()),
            (DATE, date(3600).parse().unwrap()),
        ]);
        assert_eq!(retry_after(&by_their_clock, now), Some(Duration::from_secs(90)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_budget_runs_out_and_recovers_with_time() {
        let budget = RetryBudget::new();
        assert_eq!((0..200).filter(|_| budget.take()).count(), 50);
        time::advance(REFILL).await;
        assert!(budget.take() && !budget.take());
        time::advance(Duration::from_secs(86_400)).await;
        assert_eq!((0..200).filter(|_| budget.take()).count(), 50);
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
