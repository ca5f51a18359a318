//! Polls a task until its final status or the deadline. A failed poll is not a failed task.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{self, Instant},
};
use tracing::{Instrument, Span};

use super::{Task, Update};
use crate::{
    Error, ErrorKind, TaskRef, TaskStatus, WaitEnd,
    retry::{Backoff, LONGEST_RETRY},
    telemetry,
    transport::middleware::{Purpose, Retry},
    values::{MAX_NAME, one_line},
};

/// The minimum pause between polls, whatever interval is configured.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// The time between the last poll and the deadline.
const LAST_POLL: Duration = Duration::from_secs(1);

/// How much the interval grows with each poll.
const GROWTH: f64 = 1.5;

/// The maximum interval; a much larger one would overflow.
const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);

/// Options for waiting for a task.
///
/// ```
/// use std::time::Duration;
/// let options = imagekiln::WaitOptions::default().deadline(Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct WaitOptions {
    pub(crate) deadline: Duration,
    interval: Duration,
    max_interval: Duration,
}

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(600),
            interval: Duration::from_millis(500),
            max_interval: Duration::from_secs(5),
        }
    }
}

impl WaitOptions {
    /// Sets the maximum duration of the wait. The default is ten minutes.
    ///
    /// The last poll is sent shortly before the deadline, and no poll continues after it.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the time between the first two polls. The default is 500 milliseconds; the minimum is
    /// 10 milliseconds.
    ///
    /// The interval grows by half with each poll.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the maximum time between two polls. The default is five seconds; the maximum is one
    /// day.
    ///
    /// Each pause is chosen randomly between half of the interval and the interval. If the service
    /// asks for a longer pause (`Retry-After`), the client waits that long, up to two minutes, plus
    /// a random addition that keeps many clients from returning at once.
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = interval;
        self
    }
}

/// The polls of one wait: the first immediately, the others after pauses.
pub(super) struct Polling {
    pub(super) task: Task,
    waiting: WaitGuard,
    started: Instant,
    deadline: Duration,
    intervals: Backoff,
    polls: u32,
    last_status: Option<TaskStatus>,
    requested_pause: Option<Duration>,
    /// Whether the retries that all polls share allow the next poll soon.
    has_retry: bool,
    last_poll_is_sent: bool,
    span: Span,
}

/// The pause before a poll.
struct Pause {
    wait: Duration,
    /// Whether the deadline leaves time for only one more poll.
    is_last: bool,
    can_be_woken: bool,
}

impl Polling {
    pub(super) fn new(task: Task, options: WaitOptions) -> Self {
        // Raised to the minimum, because an interval of zero would never grow.
        let longest = options.max_interval.clamp(SHORTEST_PAUSE, LONGEST_INTERVAL);
        let first = options.interval.max(SHORTEST_PAUSE);
        Self {
            waiting: WaitGuard::new(&task.shared.waits, &task.reference),
            started: Instant::now(),
            deadline: options.deadline,
            intervals: Backoff::new(first, longest).with_growth(GROWTH),
            polls: 0,
            last_status: None,
            requested_pause: None,
            has_retry: true,
            last_poll_is_sent: false,
            span: telemetry::wait_span(&task.reference),
            task,
        }
    }

    /// Returns the next update. Retries polls that fail temporarily.
    pub(super) async fn next(&mut self) -> Result<Update, Error> {
        let next = self.next_update().await;
        if next.as_ref().map_or(true, |update| update.status().is_final()) {
            let outcome = next.as_ref().map(Update::status);
            let elapsed = self.started.elapsed();
            telemetry::waited(&self.span, &self.task.reference, outcome, elapsed);
        }
        next
    }

    /// A webhook event ends a pause, unless the service asked for the pause. Only the polls are in
    /// the span of the wait, because a future that holds a span is larger, and thousands may pause.
    async fn next_update(&mut self) -> Result<Update, Error> {
        let (mut last_failure, mut failures) = (None, 0);
        loop {
            if self.polls > 0 {
                let pause = self.begin_pause(last_failure.as_ref(), failures);
                let Some(Pause { wait, is_last, can_be_woken }) = pause else {
                    return Err(self.deadline_passed(last_failure));
                };
                tokio::select! {
                    () = time::sleep(wait) => self.last_poll_is_sent = is_last,
                    () = self.waiting.woken(), if can_be_woken => {
                        self.intervals.reset();
                    }
                }
            }
            self.polls += 1;
            let polling = self.task.poll_within(self.left(), failures);
            match polling.instrument(self.span.clone()).await {
                Ok(update) => {
                    self.last_status = Some(update.status().clone());
                    return Ok(update);
                }
                Err(error) if error.wait_end().is_some() => return Err(error),
                Err(error) => {
                    self.requested_pause = error.retry_after();
                    self.has_retry = self.task.shared.poll_retries.take();
                    last_failure = Some(error);
                    failures += 1;
                }
            }
        }
    }

    /// Returns the pause before the next poll, or `None` if the deadline leaves no time for one.
    /// The last poll is sent shortly before the deadline, even if the pause would be longer.
    fn begin_pause(&mut self, last_failure: Option<&Error>, failures: u32) -> Option<Pause> {
        let left = self.left();
        if self.last_poll_is_sent || left <= SHORTEST_PAUSE {
            return None;
        }
        let service = &self.task.shared.service;
        let random = &service.random;
        let latest = if std::mem::replace(&mut self.has_retry, true) {
            left - LAST_POLL.min(left / 2)
        } else {
            // Many waits may end at the same time, and the service is failing.
            self.requested_pause = self.requested_pause.max(Some(LONGEST_RETRY));
            random.spread(left)
        };
        let requested = self.requested_pause.take();
        let after = requested.map(|wait| random.after(wait.min(service.retry.longest_retry_after)));
        let pause = random.spread(self.intervals.pause()).max(after.unwrap_or_default());
        let pause = pause.max(SHORTEST_PAUSE);
        let wait = pause.min(latest);
        if let Some(error) = last_failure {
            self.span.in_scope(|| self.announce(failures, wait, error));
        }
        Some(Pause { wait, is_last: pause >= latest, can_be_woken: requested.is_none() })
    }

    fn announce(&self, failures: u32, wait: Duration, error: &Error) {
        let Task { shared, reference: task, .. } = &self.task;
        tracing::debug!(task_id = task.id(), kind = ?error.kind(), "poll failed; retrying");
        shared.service.middlewares.announce(&Retry {
            purpose: Purpose::Poll,
            operation: task.operation(),
            task_id: Some(task.id()),
            failures,
            attempts: None,
            wait,
            error,
        });
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_sub(self.started.elapsed())
    }

    fn deadline_passed(&self, last_failure: Option<Error>) -> Error {
        let elapsed = self.started.elapsed();
        let seen = self.last_status.as_ref().map_or("no poll succeeded".to_owned(), |status| {
            format!("last status: `{}`", one_line(status.as_str(), MAX_NAME))
        });
        let error = Error::new(
            ErrorKind::Deadline,
            format!(
                "the task was not final after {:.1} s (deadline {} s, polls: {}; {seen})",
                elapsed.as_secs_f32(),
                self.deadline.as_secs_f32(),
                self.polls
            ),
        )
        .with_advice("the task continues and is billed; wait for it again with its reference")
        .with_task(&self.task.reference)
        .with_end(WaitEnd::DeadlineExceeded {
            elapsed,
            polls: self.polls,
            last_status: self.last_status.clone(),
        });
        match last_failure {
            Some(failure) => error.with_source(failure),
            None => error,
        }
    }
}

/// The active waits of a client, which webhook events can wake, by the hash of the id of their
/// task. There can be thousands, so the ids are not stored again.
#[derive(Default)]
pub(crate) struct Waits {
    hasher: RandomState,
    active: Mutex<HashMap<u64, Vec<Arc<Wait>>>>,
}

struct Wait {
    task: Arc<TaskRef>,
    /// Keeps an event that arrives while a poll is in flight.
    event: Notify,
}

impl Waits {
    /// Makes every wait for a task with this id poll immediately. Tasks in both regions may have
    /// it, and an event contains only the id.
    #[cfg(feature = "webhook")]
    pub(crate) fn wake(&self, task_id: &str) {
        let active = self.lock();
        let same_hash = active.get(&self.hasher.hash_one(task_id)).into_iter().flatten();
        for wait in same_hash.filter(|wait| wait.task.id() == task_id) {
            wait.event.notify_one();
        }
    }

    /// Whether there is an active wait for this task.
    pub(super) fn has(&self, task: &TaskRef) -> bool {
        let active = self.lock();
        let mut same_hash = active.get(&self.hasher.hash_one(task.id())).into_iter().flatten();
        same_hash.any(|wait| wait.task.identity() == task.identity())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Vec<Arc<Wait>>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registers a wait until it is dropped.
struct WaitGuard {
    waits: Arc<Waits>,
    wait: Arc<Wait>,
}

impl WaitGuard {
    fn new(waits: &Arc<Waits>, task: &Arc<TaskRef>) -> Self {
        let wait = Arc::new(Wait { task: Arc::clone(task), event: Notify::new() });
        let hash = waits.hasher.hash_one(task.id());
        waits.lock().entry(hash).or_default().push(Arc::clone(&wait));
        Self { waits: Arc::clone(waits), wait }
    }

    /// Returns when an event has arrived since the previous call returned.
    async fn woken(&self) {
        self.wait.event.notified().await;
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let hash = self.waits.hasher.hash_one(self.wait.task.id());
        let mut active = self.waits.lock();
        let Some(same_hash) = active.get_mut(&hash) else { return };
        same_hash.retain(|wait| !Arc::ptr_eq(wait, &self.wait));
        if same_hash.is_empty() {
            active.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::Region;

    fn task(id: &str) -> TaskRef {
        TaskRef::new(id, "http://127.0.0.1:9/poll", None)
    }

    fn waiting(waits: &Arc<Waits>, id: &str) -> WaitGuard {
        WaitGuard::new(waits, &Arc::new(task(id)))
    }

    #[test]
    fn a_task_is_removed_when_its_last_wait_ends() {
        let all = Arc::<Waits>::default();
        let (first, second) = (waiting(&all, "t1"), waiting(&all, "t1"));
        let other = waiting(&all, "t2");
        drop(first);
        assert!(all.has(&task("t1")));
        drop(second);
        assert!(!all.has(&task("t1")));
        assert!(all.has(&task("t2")));
        drop(other);
        assert!(all.lock().is_empty());
    }

    /// An event does not contain the region.
    #[test]
    fn an_event_wakes_the_waits_of_all_regions() {
        let all = Arc::<Waits>::default();
        let regions = [Region::Global, Region::Regional].map(|region| task("t1").in_region(region));
        let waits = regions.clone().map(|task| WaitGuard::new(&all, &Arc::new(task)));
        all.wake("t1");
        assert!(waits.iter().all(|wait| wait.woken().now_or_never().is_some()));

        let [global, regional] = waits;
        drop(global);
        assert_eq!(regions.each_ref().map(|task| all.has(task)), [false, true]);
        drop(regional);
        assert!(all.lock().is_empty());
    }

    /// An event may arrive while a poll is in flight, when nothing waits for it.
    #[test]
    fn an_event_ends_one_pause_of_each_wait() {
        let all = Arc::<Waits>::default();
        let waits = [waiting(&all, "t1"), waiting(&all, "t1")];
        all.wake("t1");
        all.wake("t2");
        let late = waiting(&all, "t1");
        assert_eq!(late.woken().now_or_never(), None);
        for wait in &waits {
            assert_eq!(wait.woken().now_or_never(), Some(()));
            assert_eq!(wait.woken().now_or_never(), None);
        }
        let [first, _] = &waits;
        let mut pause = Box::pin(first.woken());
        assert_eq!(pause.as_mut().now_or_never(), None);
        all.wake("t1");
        assert_eq!(pause.now_or_never(), Some(()));
        assert_eq!(first.woken().now_or_never(), None);
    }
}
