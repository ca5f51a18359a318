//! Limits the number of active tasks. A task holds a slot until any poll by this client returns a
//! final status.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{self, OwnedSemaphorePermit, Semaphore},
    time::{self, Instant},
};

use crate::{Error, ErrorKind, TaskRef, retry::backoff::Backoff};

/// How long a submission waits for a slot before it polls the tasks that hold one, and the maximum
/// time between those polls.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a submission waits for a slot before it logs a warning.
const LONG_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct Slots {
    pub(super) capacity: usize,
    free: Arc<Semaphore>,
    /// Held slots by task id. Tasks in both regions may have the same id, and a faulty service may
    /// return the same task for several submissions, each of which holds a slot.
    held: Mutex<HashMap<String, Vec<Held>>>,
    /// Ensures that only one waiting submission polls.
    pub(super) polling: sync::Mutex<()>,
}

struct Held {
    task: TaskRef,
    _slot: OwnedSemaphorePermit,
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
        let held = Held { task: task.clone(), _slot: slot };
        self.lock().entry(task.id().to_owned()).or_default().push(held);
    }

    /// Frees the slots of a task with a final status.
    pub(super) fn release(&self, task: &TaskRef) {
        let mut held = self.lock();
        let Some(same_id) = held.get_mut(task.id()) else { return };
        same_id.retain(|held| held.task.identity() != task.identity());
        if same_id.is_empty() {
            held.remove(task.id());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a free slot. Meanwhile, `poll_held` polls the tasks that hold one, which frees the
    /// slots of those that are final.
    pub(super) async fn slot<F: Future<Output = Result<(), Error>>>(
        &self,
        poll_held: impl Fn() -> F,
    ) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let mut free = pin!(Arc::clone(&self.free).acquire_owned());
        let started = Instant::now();
        let (mut backoff, mut has_warned) = (Backoff::new(FIRST_PAUSE, LONGEST_PAUSE), false);
        loop {
            let pause = backoff.pause();
            let polling = async {
                time::sleep(pause).await;
                poll_held().await
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
                tracing::warn!(active_tasks = self.capacity, "a submission is waiting for a slot");
            }
        }
    }

    /// Returns the tasks that hold a slot.
    pub(super) fn held(&self) -> Vec<TaskRef> {
        self.lock().values().flatten().map(|held| held.task.clone()).collect()
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
