//! Waiting: polls until the final status or the deadline. A failed poll is not a failed task.

use std::time::Duration;

use tokio::time::{self, Instant};

use super::{
    Task,
    poll::{PollError, Update, poll},
};
use crate::{Client, Error, ErrorKind, Picture, TaskRef, TaskStatus, WaitEnd};

/// However short an interval is asked for, a wait does not spin.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

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
    /// How long the wait may take in all; ten minutes by default. There is always a deadline, and every poll is cut to
    /// what is left of it.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The time between the first two polls; half a second by default, at least 10 milliseconds. It grows by half with
    /// each poll.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// The longest time between two polls; five seconds by default, at most a day. Each is spread over its last half, and a service
    /// that asks for a longer wait (`Retry-After`) gets it.
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = interval;
        self
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

    /// Waits for the picture. Polls that fail in passing (5xx, time-outs, resets, answers that can't be read, 429) are
    /// repeated until the deadline.
    ///
    /// # Errors
    ///
    /// Every one carries the task's reference, and says in [`Error::wait_end`] how the wait ended. Kinds
    /// [`TaskFailed`](ErrorKind::TaskFailed), [`Moderated`](ErrorKind::Moderated), [`TaskNotFound`](ErrorKind::TaskNotFound):
    /// there will be no picture. [`Deadline`](ErrorKind::Deadline), [`Auth`](ErrorKind::Auth),
    /// [`KeyWithheld`](ErrorKind::KeyWithheld), [`Service`](ErrorKind::Service): the task goes on, wait for it again.
    pub async fn wait_with(&self, options: WaitOptions) -> Result<Picture, Error> {
        let mut polling = Polling::new(&self.client, &self.reference, options);
        loop {
            let update = polling.next().await?;
            if !update.status().is_final() {
                continue;
            }
            self.release_slot();
            let status = update.status().clone();
            return update.into_picture().ok_or_else(|| failed(&self.reference, status));
        }
    }
}

fn failed(task: &TaskRef, status: TaskStatus) -> Error {
    let (kind, advice) = match status {
        TaskStatus::RequestModerated | TaskStatus::ContentModerated => {
            (ErrorKind::Moderated, "change the prompt or the images, or raise safety_tolerance")
        }
        TaskStatus::TaskNotFound => (
            ErrorKind::TaskNotFound,
            "check the id, and that it is polled at the address that the submission was answered with",
        ),
        _ => (ErrorKind::TaskFailed, "there will be no picture; a new submission is a new task, paid anew"),
    };
    Error::new(kind, format!("the task ended with status `{status}`"))
        .advice(advice)
        .with_task(task)
        .ended(WaitEnd::Failed { status })
}

/// The polls of one wait: the first at once, each further one after a delay.
pub(super) struct Polling {
    client: Client,
    task: TaskRef,
    started: Instant,
    deadline: Duration,
    interval: Duration,
    max_interval: Duration,
    polls: u32,
    last_status: Option<TaskStatus>,
    asked_to_wait: Option<Duration>,
}

impl Polling {
    pub(super) fn new(client: &Client, task: &TaskRef, options: WaitOptions) -> Self {
        Self {
            client: client.clone(),
            task: task.clone(),
            started: Instant::now(),
            deadline: options.deadline,
            interval: options.interval.min(options.max_interval).min(LONGEST_INTERVAL),
            max_interval: options.max_interval.min(LONGEST_INTERVAL),
            polls: 0,
            last_status: None,
            asked_to_wait: None,
        }
    }

    /// The next update: repeats polls that fail in passing.
    pub(super) async fn next(&mut self) -> Result<Update, Error> {
        let mut last_failure = None;
        loop {
            if self.polls > 0 {
                let pause = self.next_pause();
                if self.left() <= pause {
                    // The rest of the deadline is not slept away: nothing could come of it.
                    return Err(self.deadline_passed(last_failure));
                }
                time::sleep(pause).await;
            }
            let left = self.left();
            if left.is_zero() && self.polls > 0 {
                return Err(self.deadline_passed(last_failure));
            }
            self.polls += 1;
            match poll(&self.client, &self.task, left).await {
                Ok(update) => {
                    self.last_status = Some(update.status().clone());
                    return Ok(update);
                }
                Err(PollError::Lasting(error)) => return Err(error),
                Err(PollError::Passing(error)) => {
                    tracing::debug!(task_id = self.task.id(), kind = ?error.kind(), "a poll failed; polling again");
                    self.asked_to_wait = error.retry_after();
                    last_failure = Some(error);
                }
            }
        }
    }

    fn next_pause(&mut self) -> Duration {
        let asked = self.asked_to_wait.take().unwrap_or_default();
        let pause = self.client.0.random.spread(self.interval).max(asked).max(SHORTEST_PAUSE);
        self.interval = self.interval.saturating_add(self.interval / 2).min(self.max_interval);
        pause
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_sub(self.started.elapsed())
    }

    fn deadline_passed(&self, last_failure: Option<Error>) -> Error {
        let elapsed = self.started.elapsed();
        let seen = self
            .last_status
            .as_ref()
            .map_or("no poll succeeded".to_owned(), |status| format!("last seen: `{status}`"));
        let error = Error::new(
            ErrorKind::Deadline,
            format!(
                "the task was not done within {} s (polls: {}; {seen})",
                self.deadline.as_secs_f32(),
                self.polls
            ),
        )
        .advice("it goes on, and is paid: wait for it again with its reference")
        .with_task(&self.task)
        .ended(WaitEnd::DeadlineExceeded {
            elapsed,
            polls: self.polls,
            last_status: self.last_status.clone(),
        });
        match last_failure {
            Some(failure) => error.caused_by(failure),
            None => error,
        }
    }
}
