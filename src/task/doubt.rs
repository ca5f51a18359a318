//! Answers to polls that others contradict. The client polls again for a while before it believes
//! one, because a part of a service may not know a task or a key for a moment. Nothing here closes
//! a record: the journal has its own proof.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::Instant;

use super::{Shared, Task, Update};
use crate::{Error, ErrorKind, TaskStatus, WaitEnd};

/// The number of such answers in a row that the client believes, even in a short time.
const MOST_POLLS: u32 = 5;

/// The answers in a row that a wait doubts.
#[derive(Default)]
pub(super) struct Doubt {
    since: Option<Instant>,
    polls: u32,
}

impl Doubt {
    /// Returns what a poll has found. An answer that is doubted is a failed poll. `age` is that of
    /// the task, and `was_found` says whether an earlier poll of the wait has found it.
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
    /// Notes that the service has accepted the key: a submission or a poll has succeeded.
    pub(super) fn answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }
}
