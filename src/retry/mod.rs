//! Decides whether a failed request is retried, and how long the client waits before the next
//! attempt.

pub(crate) mod status;

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use tokio::time::Instant;

use crate::values::Mutex;

/// Configures retries.
///
/// Regardless of the policy, the client sends a submission again only if the service certainly did
/// not process it; see [`Billing`](crate::Billing). Polls are retried until the deadline of the
/// wait.
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
    pub(crate) longest_doubt: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 6,
            longest_retry_after: Duration::from_secs(120),
            longest_doubt: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Sets the maximum number of attempts for a submission and for the download of a picture,
    /// including the first. The default is 6; the minimum is 1.
    ///
    /// A picture is downloaded at most 4 times.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Sets the longest `Retry-After` delay that the client accepts. The default is 2 minutes.
    ///
    /// If the service asks for a longer delay, a submission fails with an error that contains the
    /// requested delay, and a poll is retried after this limit.
    pub fn longest_retry_after(mut self, wait: Duration) -> Self {
        self.longest_retry_after = wait;
        self
    }

    /// Sets how long a wait keeps polling after responses that contradict earlier ones. A service
    /// with several servers may send such responses for a moment. They are
    ///
    /// - a refusal, such as 403, although the service has accepted the key before;
    /// - `Task not found`, although an earlier poll of the wait has found the task, or the service
    ///   has accepted the task within this time.
    ///
    /// The wait ends when this time has passed since the first of them, or after five of them in a
    /// row. The default is 30 seconds. With 0, the first one ends the wait.
    pub fn longest_doubt(mut self, doubt: Duration) -> Self {
        self.longest_doubt = doubt;
        self
    }
}

/// Returns the delay that the service asked for in seconds or as a date (RFC 9110, section 10.2.3).
/// A date is relative to the service's clock if the response contains it, because the local clock
/// may be wrong.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let value = text(RETRY_AFTER)?;
    // Only digits are valid, but `parse` would also accept a plus sign.
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.parse().ok().map(Duration::from_secs);
    }
    let date = httpdate::parse_http_date(value).ok()?;
    // A date in the past means no delay.
    Some(date.duration_since(date_of(headers).unwrap_or(now)).unwrap_or_default())
}

/// Returns when the service sent a response, by the clock of the service: the header `Date`.
pub(crate) fn date_of(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?.trim()).ok()
}

/// The retries that all requests of one purpose (submissions, polls or downloads) share. Each retry
/// takes one from the budget, and the budget refills over time. Without a budget, a client with
/// many tasks would multiply the load on a service that is already failing.
#[derive(Debug)]
pub(crate) struct RetryBudget(Mutex<Level>);

#[derive(Debug)]
struct Level {
    left: f64,
    at: Instant,
}

/// The maximum number of retries in the budget.
const CAPACITY: f64 = 50.0;

/// The time in which the budget regains one retry.
const REFILL: Duration = Duration::from_secs(2);

impl RetryBudget {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Level { left: CAPACITY, at: Instant::now() }))
    }

    /// Takes one retry from the budget. Returns `false` if it is empty.
    pub(crate) fn take(&self) -> bool {
        let mut level = self.0.lock();
        let now = Instant::now();
        let refilled = now.duration_since(level.at).div_duration_f64(REFILL);
        *level = Level { left: (level.left + refilled).min(CAPACITY), at: now };
        let enough = level.left >= 1.0;
        if enough {
            level.left -= 1.0;
        }
        enough
    }
}

/// The bounds of the jitter added to `Retry-After`, so that clients refused at the same time do not
/// return at the same time.
const MIN_JITTER: Duration = Duration::from_millis(100);
const MAX_JITTER: Duration = Duration::from_secs(5);

/// The first and the longest pause between the attempts of a submission, a download or the
/// confirmation of an event.
const FIRST_RETRY: Duration = Duration::from_millis(500);
pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Pauses that grow from the first to the longest, for loops that repeat an operation until it
/// succeeds.
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
#[doc(hidden)]
pub struct Backoff {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// Creates a backoff from its first and its longest pause.
    pub fn new(first: Duration, longest: Duration) -> Self {
        let first = first.min(longest);
        Self { first, next: first, longest }
    }

    /// Returns the pauses between the attempts of a request.
    pub(crate) fn of_retries() -> Self {
        Self::new(FIRST_RETRY, LONGEST_RETRY)
    }

    /// Returns the next pause.
    pub fn pause(&mut self) -> Duration {
        let grown = self.next.saturating_mul(2).min(self.longest);
        std::mem::replace(&mut self.next, grown)
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

    /// Returns a random number from 0 to 1.
    pub(crate) fn fraction(&self) -> f64 {
        self.0.lock().f64()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    #[test]
    fn both_forms_of_retry_after_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let date = |offset: i64| {
            let time =
                SystemTime::UNIX_EPOCH + Duration::from_secs((1_000_000_000 + offset) as u64);
            httpdate::fmt_http_date(time)
        };
        let delay = |value: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
            retry_after(&headers, now)
        };
        assert_eq!(delay("7"), Some(Duration::from_secs(7)));
        assert_eq!(delay(&date(90)), Some(Duration::from_secs(90)));
        assert_eq!(delay(&date(-90)), Some(Duration::ZERO));
        for invalid in ["", "soon", "-1", "+7", "1e3", "99999999999999999999"] {
            assert_eq!(delay(invalid), None, "{invalid}");
        }
        let with_service_date = HeaderMap::from_iter([
            (RETRY_AFTER, date(3690).parse().unwrap()),
            (DATE, date(3600).parse().unwrap()),
        ]);
        assert_eq!(retry_after(&with_service_date, now), Some(Duration::from_secs(90)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_budget_runs_out_and_refills_over_time() {
        let budget = RetryBudget::new();
        assert_eq!((0..200).filter(|_| budget.take()).count(), 50);
        time::advance(REFILL).await;
        assert!(budget.take() && !budget.take());
        time::advance(Duration::from_secs(86_400)).await;
        assert_eq!((0..200).filter(|_| budget.take()).count(), 50);
    }

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
