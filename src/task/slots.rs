//! The slots of active tasks. A task holds its slot until a poll of the client sees its final
//! status, whoever polls.

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

use super::poll::{PollError, poll};
use crate::{Client, Error, ErrorKind, TaskRef};

/// How long a submission waits for a slot before it polls the tasks that hold one, and how long at
/// most between its polls.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A submission that has waited for this long says so in the log.
const LONG_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct Slots {
    capacity: usize,
    free: Arc<Semaphore>,
    /// By the ids of their tasks.
    held: Mutex<HashMap<String, Held>>,
    /// Only one of the submissions that wait polls.
    turn: sync::Mutex<()>,
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
            turn: sync::Mutex::default(),
        }
    }

    /// The task keeps the slot of its submission.
    pub(super) fn hold(&self, task: &TaskRef, slot: OwnedSemaphorePermit) {
        self.lock().insert(task.id().to_owned(), Held { task: task.clone(), _slot: slot });
    }

    /// The task is final.
    pub(super) fn release(&self, task: &TaskRef) {
        self.lock().remove(task.id());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls the tasks that nobody waits for, which gives back the slots of those that are final.
    async fn poll_held(&self, client: &Client) -> Result<(), Error> {
        let Ok(_turn) = self.turn.try_lock() else { return Ok(()) };
        let held: Vec<TaskRef> = self.lock().values().map(|held| held.task.clone()).collect();
        let mut hopeless = Vec::new();
        for task in held.iter().filter(|task| !client.tasks().waits.has(task.id())) {
            if let Err(PollError::Lasting(error)) =
                poll(client, task, client.tasks().settings.poll_deadline).await
            {
                hopeless.push(error);
            }
        }
        match hopeless.pop() {
            Some(error) if hopeless.len() + 1 == self.capacity => Err(Error::new(
                ErrorKind::RateLimited,
                "every slot is held by a task that can't be polled",
            )
            .with_advice(
                "nothing was sent; remove the cause, or raise ClientBuilder::max_active_tasks",
            )
            .with_source(error)),
            _ => Ok(()),
        }
    }
}

impl Client {
    /// A slot among the active tasks, as soon as one is free.
    pub(super) async fn slot(&self) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let Some(slots) = &self.tasks().slots else { return Ok(None) };
        let mut free = pin!(Arc::clone(&slots.free).acquire_owned());
        let started = Instant::now();
        let (mut pause, mut is_said) = (FIRST_PAUSE, false);
        loop {
            let polling = async {
                time::sleep(pause).await;
                slots.poll_held(self).await
            };
            tokio::select! {
                biased;
                // Closing is never called on it; without a slot the worst is one task more than
                // asked for.
                slot = &mut free => return Ok(slot.ok()),
                polled = polling => polled?,
            }
            if !is_said && started.elapsed() >= LONG_WAIT {
                is_said = true;
                tracing::warn!(
                    active_tasks = slots.capacity,
                    "a submission still waits for a slot"
                );
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// A slot among the active tasks, if one is free.
    pub(super) fn try_slot(&self) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let Some(slots) = &self.tasks().slots else { return Ok(None) };
        Arc::clone(&slots.free).try_acquire_owned().map(Some).map_err(|_| {
            let message = format!("all slots of active tasks are taken ({})", slots.capacity);
            Error::new(ErrorKind::RateLimited, message).with_advice(
                "nothing was sent; wait for a task, or call Client::submit, which waits",
            )
        })
    }
}
