//! Waiting: polls until the final status or the deadline. A failed poll is not a failed task.

use std::time::Duration;

use tokio::time::{self, Instant};

use super::{
    Task,
    poll::{PollError, poll},
    update::Update,
    waits::Wake,
};
use crate::{
    Client, Error, ErrorKind, Picture, TaskRef, TaskStatus, WaitEnd,
    transport::retry::LONGEST_DELAY,
    values::{MAX_NAME, one_line},
};

/// However short an interval is asked for, a wait does not spin.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// How long before the deadline the last poll is sent.
const LAST_POLL: Duration = Duration::from_secs(1);

/// No interval is longer than this: beyond it lies nothing but overflow.
const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);

/// How to wait for a task.
///
/// ```
/// use std::time::Duration;
/// let options = imagekiln::WaitOptions::default().deadline(Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct WaitOptions {
    deadline: Duration,
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
    /// How long the wait may take in all; ten minutes by default. There is always a deadline. The
    /// last poll is sent shortly before it, and every poll ends with it.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The time between the first two polls; half a second by default, at least 10 milliseconds. It
    /// grows by half with each poll.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// The longest time between two polls; five seconds by default, at most a day. Each is spread
    /// over its last half. A service that asks for a longer wait (`Retry-After`) gets it, up to two
    /// minutes, and a little more so that many clients do not come back at once.
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = interval;
        self
    }
}

#[cfg(feature = "axum")]
impl WaitOptions {
    pub(crate) fn longest(&self) -> Duration {
        self.deadline
    }
}

impl Task {
    /// Waits for the picture, with the default [`WaitOptions`].
    ///
    /// # Errors
    ///
    /// As [`wait_with`](Self::wait_with).
    pub async fn wait(&self) -> Result<Picture, Error> {
        self.wait_with(WaitOptions::default()).await
    }

    /// Waits for the picture. Polls that fail for the moment (5xx, time-outs, resets, responses
    /// that can't be read, 429) are repeated until the deadline. A webhook that this client has
    /// verified ends a pause between two polls, unless the service asked for that pause.
    ///
    /// # Errors
    ///
    /// Every one carries the task's reference, and says in [`Error::wait_end`] how the wait ended.
    /// Kinds [`TaskFailed`](ErrorKind::TaskFailed), [`Moderated`](ErrorKind::Moderated),
    /// [`TaskNotFound`](ErrorKind::TaskNotFound): there will be no picture.
    /// [`Deadline`](ErrorKind::Deadline), [`Auth`](ErrorKind::Auth),
    /// [`KeyWithheld`](ErrorKind::KeyWithheld), [`Service`](ErrorKind::Service): the task goes on,
    /// wait for it again.
    pub async fn wait_with(&self, options: WaitOptions) -> Result<Picture, Error> {
        let mut polling = Polling::new(&self.client, &self.reference, options);
        loop {
            let update = polling.next().await?;
            if !update.status().is_final() {
                continue;
            }
            return outcome(update, &self.reference);
        }
    }
}

/// The picture of a final update, or why there is none.
pub(crate) fn outcome(update: Update, task: &TaskRef) -> Result<Picture, Error> {
    let status = update.status().clone();
    update.into_picture().ok_or_else(|| failed(task, status))
}

fn failed(task: &TaskRef, status: TaskStatus) -> Error {
    let (kind, advice) = match status {
        TaskStatus::RequestModerated | TaskStatus::ContentModerated => {
            (ErrorKind::Moderated, "change the prompt or the images, or raise safety_tolerance")
        }
        TaskStatus::TaskNotFound => (
            ErrorKind::TaskNotFound,
            "check the id, and that it is polled at the polling URL of the submission's response",
        ),
        _ => (
            ErrorKind::TaskFailed,
            "there will be no picture; a new submission is a new task, and paid again",
        ),
    };
    let shown = one_line(status.as_str(), MAX_NAME);
    Error::new(kind, format!("the task ended with status `{shown}`"))
        .with_advice(advice)
        .with_task(task)
        .with_end(WaitEnd::Failed { status })
}

/// The polls of one wait: the first at once, each further one after a delay.
pub(super) struct Polling {
    client: Client,
    task: TaskRef,
    started: Instant,
    deadline: Duration,
    first_interval: Duration,
    interval: Duration,
    max_interval: Duration,
    wake: Wake,
    polls: u32,
    last_status: Option<TaskStatus>,
    asked_to_wait: Option<Duration>,
    last_poll_is_sent: bool,
}

impl Polling {
    pub(super) fn new(client: &Client, task: &TaskRef, options: WaitOptions) -> Self {
        let interval = options.interval.min(options.max_interval).min(LONGEST_INTERVAL);
        Self {
            client: client.clone(),
            task: task.clone(),
            started: Instant::now(),
            deadline: options.deadline,
            first_interval: interval,
            interval,
            max_interval: options.max_interval.min(LONGEST_INTERVAL),
            wake: Wake::new(client, task.id()),
            polls: 0,
            last_status: None,
            asked_to_wait: None,
            last_poll_is_sent: false,
        }
    }

    /// The next update: repeats polls that fail for the moment.
    pub(super) async fn next(&mut self) -> Result<Update, Error> {
        let mut last_failure = None;
        loop {
            if self.polls > 0 && !self.pause().await {
                return Err(self.deadline_passed(last_failure));
            }
            self.polls += 1;
            match poll(&self.client, &self.task, self.left()).await {
                Ok(update) => {
                    self.last_status = Some(update.status().clone());
                    return Ok(update);
                }
                Err(PollError::Lasting(error)) => return Err(error),
                Err(PollError::Transient(error)) => {
                    let task_id = self.task.id();
                    tracing::debug!(task_id, kind = ?error.kind(), "a poll failed; polling again");
                    self.asked_to_wait = error.retry_after();
                    if !self.client.tasks().poll_retries.take() {
                        self.asked_to_wait = self.asked_to_wait.max(Some(LONGEST_DELAY));
                    }
                    last_failure = Some(error);
                }
            }
        }
    }

    /// Returns when it is time for another poll, and whether there is time for one. The last one
    /// comes shortly before the deadline, however long the pause would have been. An event ends the
    /// pause, unless the service asked for it.
    async fn pause(&mut self) -> bool {
        let left = self.left();
        if self.last_poll_is_sent || left <= SHORTEST_PAUSE {
            return false;
        }
        let latest = left - LAST_POLL.min(left / 2);
        let asked = self.asked_to_wait.take();
        let pause = self.next_pause(asked);
        tokio::select! {
            () = time::sleep(pause.min(latest)) => self.last_poll_is_sent = pause >= latest,
            () = self.wake.woken(), if asked.is_none() => self.interval = self.first_interval,
        }
        true
    }

    fn next_pause(&mut self, asked: Option<Duration>) -> Duration {
        let service = self.client.service();
        let (random, longest) = (&service.random, service.retry.longest_retry_after);
        let asked = asked.map(|asked| random.after(asked.min(longest)));
        let pause = random.spread(self.interval).max(asked.unwrap_or_default()).max(SHORTEST_PAUSE);
        self.interval = self.interval.saturating_add(self.interval / 2).min(self.max_interval);
        pause
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
        .with_advice("the task goes on, and is paid: wait for it again with its reference")
        .with_task(&self.task)
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
