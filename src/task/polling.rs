//! Polls a task until its final status or the deadline. A failed poll is not a failed task.

use std::time::Duration;

use tokio::time::{self, Instant};
use tracing::{Instrument, Span};

use super::{Task, Update, waits::WaitGuard};
use crate::{
    Error, ErrorKind, TaskStatus, WaitEnd,
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
    /// The interval grows by half with each poll. Around the time that the last task of the same
    /// model took, pauses are shorter.
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
    /// The age of the wait at the last poll whose status was not final.
    in_progress_at: Duration,
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
            in_progress_at: Duration::ZERO,
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
            let asked_at = self.started.elapsed();
            let polling = self.task.poll_within(self.left(), failures);
            match polling.instrument(self.span.clone()).await {
                Ok(update) => {
                    self.last_status = Some(update.status().clone());
                    if !update.status().is_final() {
                        self.in_progress_at = asked_at;
                    } else if update.status().is_success() {
                        let waits = &self.task.shared.waits;
                        waits.learn(&self.task.reference, self.in_progress_at);
                    }
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
        let pause = random.spread(self.intervals.pause());
        let pause = if failures == 0 { self.expecting(pause) } else { pause };
        let pause = pause.max(after.unwrap_or_default());
        let pause = pause.max(SHORTEST_PAUSE);
        let wait = pause.min(latest);
        if let Some(error) = last_failure {
            self.span.in_scope(|| self.announce(failures, wait, error));
        }
        Some(Pause { wait, is_last: pause >= latest, can_be_woken: requested.is_none() })
    }

    /// The pause, or a shorter one around the time at which the last task of the model was ready:
    /// others are probably ready then, too.
    fn expecting(&self, pause: Duration) -> Duration {
        let age = self.started.elapsed();
        match self.task.shared.waits.expected(&self.task.reference) {
            Some(expected) if age < expected => pause.min(expected - age),
            Some(expected) if age < 2 * expected => pause.min(age / 8),
            _ => pause,
        }
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
