//! Poll responses that contradict earlier responses, such as `Task not found` for a task that an
//! earlier poll has found. Some servers of a service may not know a task or a key for a moment, so
//! the client polls again for a while before it believes such a response. Otherwise a wait would
//! give up a paid task. Nothing in this file closes a record, because the journal requires its own
//! proof.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::Instant;

use super::{Shared, Task, Update};
use crate::{Error, ErrorKind, TaskStatus, WaitEnd};

/// The number of contradicting responses in a row that the client believes, even if they arrive
/// within a short time.
const MOST_POLLS: u32 = 5;

/// The contradicting responses that a wait has received in a row.
#[derive(Default)]
pub(super) struct Doubt {
    since: Option<Instant>,
    polls: u32,
}

impl Doubt {
    /// Returns the result of a poll. If the response contradicts earlier ones, returns the error of
    /// a failed poll instead, so that the wait polls again. `age` is the age of the task, and
    /// `was_found` says whether an earlier poll of the wait has found the task.
    pub(super) fn weigh(
        &mut self,
        task: &Task,
        polled: Result<Update, Error>,
        (age, was_found): (Option<Duration>, bool),
    ) -> Result<Update, Error> {
        let longest = task.shared.service.retry.longest_doubt;
        let is_doubtful = match &polled {
            Ok(update) if *update.status() == TaskStatus::TaskNotFound => {
                was_found || age.is_some_and(|age| age < longest)
            }
            Ok(_) => {
                *self = Self::default();
                false
            }
            Err(error) => {
                let is_refusal =
                    matches!(error.wait_end(), Some(WaitEnd::Refused { status: Some(_) }));
                is_refusal && task.shared.has_answered()
            }
        };
        if !is_doubtful {
            return polled;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        self.polls += 1;
        if self.polls >= MOST_POLLS || since.elapsed() >= longest {
            return polled;
        }
        Err(match polled {
            Ok(_) => Error::new(ErrorKind::TaskNotFound, "the service does not find the task yet")
                .with_task(&task.reference),
            Err(error) => error.with_end(None),
        })
    }
}

impl Shared {
    /// Remembers that the service has accepted the key, because a submission or a poll has
    /// succeeded.
    pub(super) fn answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }
}
