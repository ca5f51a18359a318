//! The slots of active tasks: a submission waits for a free one.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{self, OwnedSemaphorePermit, Semaphore},
    time::{self, Instant},
};

use super::{Shared, Task};
use crate::{Error, ErrorKind, TaskRef, retry::Backoff};

/// How long a submission waits for a slot before it polls the tasks that hold one, and the maximum
/// time between those polls.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a submission waits for a slot before it logs a warning.
const LONG_WAIT: Duration = Duration::from_secs(10);

/// Limits the number of active tasks. A task holds a slot until any poll by this client returns a
/// final status.
pub(crate) struct Slots {
    capacity: usize,
    free: Arc<Semaphore>,
    /// A faulty service may return the same task for several submissions, each of which holds a
    /// slot.
    held: Mutex<Vec<(TaskRef, OwnedSemaphorePermit)>>,
    /// Ensures that only one waiting submission polls.
    polling: sync::Mutex<()>,
}

impl Slots {
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.min(Semaphore::MAX_PERMITS);
        Self {
            capacity,
            free: Arc::new(Semaphore::new(capacity)),
            held: Mutex::default(),
            polling: sync::Mutex::default(),
        }
    }

    /// Assigns the slot of a submission to its task.
    pub(super) fn hold(&self, task: &TaskRef, slot: OwnedSemaphorePermit) {
        self.lock().push((task.clone(), slot));
    }

    /// Frees the slots of a task with a final status.
    pub(super) fn release(&self, task: &TaskRef) {
        self.lock().retain(|(held, _)| held.identity() != task.identity());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(TaskRef, OwnedSemaphorePermit)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a slot if one is free.
    pub(super) fn try_slot(&self) -> Result<OwnedSemaphorePermit, Error> {
        Arc::clone(&self.free).try_acquire_owned().map_err(|_| {
            let limit = self.capacity;
            let message = format!("all slots for active tasks are in use (limit: {limit})");
            Error::new(ErrorKind::RateLimited, message)
                .with_advice("nothing was sent; submit when a task has finished")
                .with_function("Client::submit")
        })
    }
}

impl Shared {
    /// Waits for a free slot. Meanwhile, polls the tasks that hold one, which frees the slots of
    /// those that are final.
    pub(super) async fn slot(
        self: &Arc<Self>,
        slots: &Slots,
    ) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let mut free = pin!(Arc::clone(&slots.free).acquire_owned());
        let started = Instant::now();
        let (mut backoff, mut has_warned) = (Backoff::new(FIRST_PAUSE, LONGEST_PAUSE), false);
        loop {
            let pause = backoff.pause();
            let polling = async {
                time::sleep(pause).await;
                self.poll_held(slots).await
            };
            tokio::select! {
                biased;
                // The semaphore is never closed. If it were, the submission would run without a
                // slot.
                slot = &mut free => return Ok(slot.ok()),
                polled = polling => polled?,
            }
            if !has_warned && started.elapsed() >= LONG_WAIT {
                has_warned = true;
                tracing::warn!(active_tasks = slots.capacity, "a submission is waiting for a slot");
            }
        }
    }

    /// Polls the tasks that hold a slot and have no active wait.
    async fn poll_held(self: &Arc<Self>, slots: &Slots) -> Result<(), Error> {
        let Ok(_guard) = slots.polling.try_lock() else { return Ok(()) };
        let held: Vec<TaskRef> = slots.lock().iter().map(|(task, _)| task.clone()).collect();
        let mut failures = Vec::new();
        for task in held.into_iter().filter(|task| !self.waits.has(task)) {
            let task = Task::resumed(Arc::clone(self), task);
            if let Err(error) = task.poll_within(self.settings.poll_deadline, 0).await
                && error.wait_end().is_some()
            {
                failures.push(error);
            }
        }
        match failures.pop() {
            Some(error) if failures.len() + 1 == slots.capacity => Err(Error::new(
                ErrorKind::RateLimited,
                "all slots are held by tasks that cannot be polled",
            )
            .with_advice("nothing was sent; fix the cause, or allow more active tasks")
            .with_function("ClientBuilder::max_active")
            .with_source(error)),
            _ => Ok(()),
        }
    }
}
