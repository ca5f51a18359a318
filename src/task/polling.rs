//! Polls a task until its final status or the deadline. A failed poll is not a failed task.
//!
//! Neither is a poll response that contradicts earlier responses, such as `Task not found` for a
//! task that an earlier poll has found. Some servers of a service may not know a task or a key for
//! a moment, so the client polls again for a while before it believes such a response. Otherwise a
//! wait would give up a paid task. Nothing in this file closes a record, because the journal
//! requires its own proof.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use tokio::time::{self, Instant};
use tracing::{Instrument, Span};

use super::{
    Task, Update,
    options::WaitOptions,
    schedule::{Events, Seen, WaitProgress},
    waits::WaitGuard,
};
use crate::{
    Error, ErrorKind, TaskStatus, WaitEnd,
    retry::LONGEST_RETRY,
    telemetry,
    transport::middleware::{Purpose, Retry},
    values::{MAX_NAME, NO_LIMIT, one_line},
};

/// The minimum pause between polls at an interval that the program has set.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// The time between the last poll and the deadline.
const LAST_POLL: Duration = Duration::from_secs(1);

/// The first pause after a failed poll, or after a poll that does not show yet what a webhook event
/// has announced.
const FIRST_REPEAT: Duration = Duration::from_millis(500);

/// The longest of these pauses, and of the pauses at an interval of the program without a maximum.
/// The pauses grow by the factor [`GROWTH`].
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const GROWTH: f64 = 1.5;

/// The maximum interval; a much larger one would overflow.
const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);

/// The number of contradicting responses in a row that the client believes, even if they arrive
/// within a short time.
const MOST_DOUBTED: u32 = 5;

/// The polls of one wait.
pub(super) struct Polling {
    pub(super) task: Task,
    waiting: WaitGuard,
    started: Instant,
    options: WaitOptions,
    /// The age of the task when the wait began, if it is known.
    age: Option<Duration>,
    polls: u32,
    last_status: Option<TaskStatus>,
    /// The age of the task in seconds at the last poll that found it in progress.
    in_progress_at: f64,
    /// Whether an event caused the last poll.
    has_event: bool,
    /// Whether another task with the same work was just ready at an unexpected age.
    is_surprised: bool,
    last_poll_is_sent: bool,
    /// When the first of the contradicting responses in a row has arrived, and their number.
    doubted: Option<(Instant, u32)>,
    span: Span,
}

impl Polling {
    pub(super) fn new(task: Task, options: WaitOptions) -> Self {
        Self {
            waiting: WaitGuard::new(&task),
            started: Instant::now(),
            options,
            age: task.age(),
            polls: 0,
            last_status: None,
            in_progress_at: 0.0,
            has_event: false,
            is_surprised: false,
            last_poll_is_sent: false,
            doubted: None,
            span: telemetry::wait_span(&task.reference),
            task,
        }
    }

    /// Returns the next update. Retries polls that fail temporarily.
    ///
    /// A webhook event ends a pause, unless the service asked for the pause. Only the polls are in
    /// the span of the wait, because a future that holds a span is larger, and thousands of waits
    /// may be in a pause at once.
    pub(super) async fn next(&mut self) -> Result<Update, Error> {
        if self.polls == 0 && self.last_status.is_none() {
            // The wait begins here, and not when its future is created.
            self.waiting.begin();
            (self.started, self.age) = (Instant::now(), self.task.age());
        }
        let (mut last_failure, mut failures) = (None, 0);
        let next = loop {
            let pause = self.begin_pause(last_failure.as_ref(), failures);
            let Some((wait, can_be_woken)) = pause else {
                break Err(self.deadline_passed(last_failure));
            };
            let mut until = Instant::now() + wait.min(NO_LIMIT);
            while until > Instant::now() {
                tokio::select! {
                    () = time::sleep_until(until) => break,
                    () = self.waiting.woken(), if can_be_woken => {}
                }
                if self.waiting.has_event() {
                    (self.has_event, self.last_poll_is_sent) = (true, false);
                    break;
                }
                // Another task was ready at an unexpected age. Planning again may only shorten this
                // pause.
                self.is_surprised = true;
                until = until.min(Instant::now() + self.pause(failures));
            }
            let sent_at = self.age();
            let confirmed = self.waiting.confirmed();
            let polled = if let Some(update) = confirmed {
                Ok(*update)
            } else {
                self.polls += 1;
                let polling = self.task.poll_within(self.left(), failures);
                polling.instrument(self.span.clone()).await
            };
            match self.believed(polled, sent_at) {
                Ok(update) => {
                    self.seen(&update, sent_at.as_secs_f64());
                    break Ok(update);
                }
                Err(error) if error.wait_end().is_some() => break Err(error),
                // The deadline has ended this poll, so the error of the poll is not the cause of
                // the deadline.
                Err(_) if self.left().is_zero() && self.last_status.is_some() => {}
                Err(error) => (last_failure, failures) = (Some(error), failures + 1),
            }
        };
        if next.as_ref().map_or(true, |update| update.status().is_final()) {
            let outcome = next.as_ref().map(Update::status);
            let elapsed = self.started.elapsed();
            telemetry::waited(&self.span, &self.task.reference, outcome, elapsed);
        }
        next
    }

    /// Returns the result of a poll. If the response contradicts earlier ones, returns the error of
    /// a failed poll instead, so that the wait polls again.
    fn believed(
        &mut self,
        polled: Result<Update, Error>,
        sent_at: Duration,
    ) -> Result<Update, Error> {
        let Task { shared, reference: task, .. } = &self.task;
        let longest = shared.service.retry.longest_doubt;
        let is_doubtful = match &polled {
            _ if self.options.believes => false,
            Ok(update) if *update.status() == TaskStatus::TaskNotFound => {
                self.last_status.is_some() || (self.age.is_some() && sent_at < longest)
            }
            Ok(_) => {
                self.doubted = None;
                false
            }
            Err(error) => {
                let is_refusal =
                    matches!(error.wait_end(), Some(WaitEnd::Refused { status: Some(_) }));
                is_refusal && shared.has_answered.load(Relaxed)
            }
        };
        if !is_doubtful {
            return polled;
        }
        let (since, polls) = self.doubted.get_or_insert_with(|| (Instant::now(), 0));
        *polls += 1;
        if *polls >= MOST_DOUBTED || since.elapsed() >= longest {
            return polled;
        }
        Err(match polled {
            Ok(_) => Error::new(ErrorKind::TaskNotFound, "the service does not find the task yet")
                .with_task(task),
            Err(error) => error.with_end(None),
        })
    }

    fn seen(&mut self, update: &Update, sent_at: f64) {
        self.last_status = Some(update.status().clone());
        if !update.status().is_final() {
            self.in_progress_at = sent_at;
        } else if update.status().is_success() {
            self.learn();
        }
    }

    /// The age of the task: since the service accepted it or, if that is not known, since the wait
    /// began.
    fn age(&self) -> Duration {
        self.age.unwrap_or_default() + self.started.elapsed()
    }

    /// Remembers how long the task took. If a poll found the picture before a webhook event
    /// arrived, also remembers that events do not arrive.
    fn learn(&self) {
        let (task, waits) = (&self.task, &self.task.shared.waits);
        let seen = Seen::new(self.in_progress_at, self.age().as_secs_f64(), self.has_event);
        let is_known = self.age.is_some() && seen.is_useful();
        let is_surprise = is_known && waits.schedules.learn(task, seen);
        let is_missing = task.expects_event() && !self.has_event && {
            std::mem::take(&mut *waits.events.lock()) != Events::Missing
        };
        if is_surprise || is_missing {
            waits.replan(task);
        }
    }

    /// Returns the pause before the next poll, or `None` if the deadline leaves no time for one.
    /// The last poll is sent shortly before the deadline, even if the pause would be longer. Also
    /// returns whether the pause can be ended early.
    fn begin_pause(
        &mut self,
        last_failure: Option<&Error>,
        failures: u32,
    ) -> Option<(Duration, bool)> {
        let left = self.left();
        if self.polls > 0 && (self.last_poll_is_sent || left <= SHORTEST_PAUSE) {
            return None;
        }
        let service = &self.task.shared.service;
        let random = &service.random;
        let mut requested = last_failure.and_then(Error::retry_after);
        let has_retry = last_failure.is_none() || self.task.shared.poll_retries.take();
        let latest = if has_retry {
            left - LAST_POLL.min(left / 2)
        } else {
            // The retry budget is empty, so the service is failing. Many waits may have the same
            // deadline, so their last polls are spread at random.
            requested = requested.max(Some(LONGEST_RETRY));
            random.spread(left)
        };
        let after = requested.map(|wait| random.after(wait.min(service.retry.longest_retry_after)));
        let pause = self.pause(failures).max(after.unwrap_or_default());
        let wait = pause.min(latest);
        if let Some(error) = last_failure {
            self.span.in_scope(|| self.announce(failures, wait, error));
        }
        self.last_poll_is_sent = pause >= latest;
        Some((wait, requested.is_none()))
    }

    /// Returns the pause before the next poll, if the service has not asked for one.
    fn pause(&mut self, failures: u32) -> Duration {
        let random = &self.task.shared.service.random;
        let repeat = |polls| random.spread(grown(FIRST_REPEAT, LONGEST_PAUSE, polls));
        if let Some(interval) = self.options.interval {
            if self.polls == 0 {
                return Duration::ZERO;
            }
            let longest = self.options.max_interval.unwrap_or(LONGEST_PAUSE.max(interval));
            let first = interval.max(SHORTEST_PAUSE);
            let interval = grown(first, longest.max(SHORTEST_PAUSE), self.polls);
            return random.spread(interval).max(SHORTEST_PAUSE);
        }
        if failures > 0 {
            return repeat(failures);
        }
        if self.polls == 0 && (self.options.is_urgent || self.age.is_none()) {
            return Duration::ZERO;
        }
        let waits = &self.task.shared.waits;
        let age = self.age();
        let progress = WaitProgress {
            in_progress_at: self.in_progress_at,
            age: age.as_secs_f64(),
            polls: self.polls,
            waiting: 1,
            events: if self.task.expects_event() { *waits.events.lock() } else { Events::Missing },
            is_surprised: std::mem::take(&mut self.is_surprised),
        };
        let waiting = || waits.count(&self.task);
        let next = waits.schedules.next(&self.task, progress, waiting, random.fraction());
        let pause = Duration::try_from_secs_f64(next)
            .map_or(LONGEST_INTERVAL, |next| next.saturating_sub(age));
        // The poll after an event does not show the announced status yet, so the next poll follows
        // soon.
        let pause = if std::mem::take(&mut self.has_event) { pause.min(repeat(1)) } else { pause };
        self.options.max_interval.map_or(pause, |most| pause.min(most.max(SHORTEST_PAUSE)))
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
        self.options.deadline.saturating_sub(self.started.elapsed())
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
                self.options.deadline.as_secs_f32(),
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

/// Returns an interval that grows with each poll, up to `longest`.
fn grown(first: Duration, longest: Duration, polls: u32) -> Duration {
    let longest = longest.min(LONGEST_INTERVAL);
    let grown = first.as_secs_f64() * GROWTH.powf(f64::from(polls.saturating_sub(1)));
    Duration::try_from_secs_f64(grown).map_or(longest, |grown| grown.min(longest))
}
