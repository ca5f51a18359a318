//! The slots of active tasks: a submission waits for a free one.

use std::{
    collections::VecDeque,
    fmt,
    hash::{BuildHasher, RandomState},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{self, oneshot},
    time::{self, Instant},
};

use super::{
    Shared, Task,
    limit::Limit,
    outage::{Outage, Reaction},
};
use crate::{
    Error, ErrorKind, TaskRef,
    retry::Backoff,
    transport::middleware::{Purpose, Retry},
    values::Mutex,
};

/// How long a submission waits for a slot before it polls the tasks that hold slots, and the
/// maximum time between these polls.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a submission waits for a slot before it logs a warning.
const LONG_WAIT: Duration = Duration::from_secs(10);

/// The maximum number of tasks that hold a slot, unless the program allows more. If there are more,
/// the oldest tasks lose their slots first, because another process may be polling them, and this
/// client would never see their final status.
const REMEMBERED: usize = 10_000;

/// Limits the number of active tasks. A task holds a slot until any poll by this client returns a
/// final status.
pub(crate) struct Slots {
    state: Mutex<State>,
    hasher: RandomState,
    /// Ensures that only one waiting submission polls.
    polling: sync::Mutex<()>,
}

struct State {
    limit: Limit,
    outage: Outage,
    /// The number of slots whose submissions have no task yet.
    sending: usize,
    /// The tasks that hold a slot, with the hashes of their ids. A faulty service may return the
    /// same task for several submissions, each of which holds a slot.
    held: VecDeque<(u64, Arc<TaskRef>)>,
    /// The submissions that wait for a slot.
    waiting: VecDeque<oneshot::Sender<Slot>>,
}

impl State {
    fn has_free(&self) -> bool {
        self.sending + self.held.len() < self.limit.most() && self.outage.wait().is_none()
    }

    /// Removes the next submission that still waits, if a slot is free. Also returns whether it is
    /// the probe of an outage.
    fn next(&mut self) -> Option<(oneshot::Sender<Slot>, bool)> {
        while self.has_free() {
            let waiting = self.waiting.pop_front()?;
            if !waiting.is_closed() {
                return Some((waiting, self.start()));
            }
        }
        None
    }

    /// Counts a submission that starts. Returns whether it is the probe of an outage.
    fn start(&mut self) -> bool {
        self.sending += 1;
        self.outage.start()
    }

    /// Counts a submission that has ended.
    fn ended(&mut self, reaction: Reaction, is_probe: bool) {
        self.sending -= 1;
        if self.outage.ended(reaction, is_probe) {
            self.limit.lost();
        }
    }
}

/// A slot of a client for one submission, returned by [`Client::slot`](crate::Client::slot).
#[must_use = "other submissions wait for it"]
pub struct Slot {
    slots: Arc<Slots>,
    is_probe: bool,
    reaction: Reaction,
}

impl Slot {
    /// Assigns the slot to the task of the submission.
    pub(super) fn hold(mut self, task: Arc<TaskRef>) {
        self.reaction = Reaction::Accepted;
        let mut state = self.slots.state.lock();
        state.held.push_back((self.slots.hash(&task), task));
        if !state.limit.is_set() && state.held.len() > REMEMBERED {
            state.held.pop_front();
        }
        let active = state.held.len();
        state.limit.accepted(active);
    }

    /// Frees the slot of a submission that the service may have accepted.
    pub(super) fn lose(mut self) {
        self.reaction = Reaction::Unknown;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.state.lock().ended(self.reaction, self.is_probe);
        self.slots.grant();
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl Slots {
    /// Limits the active tasks to `max_active` or, without it, to the number that the service turns
    /// out to allow. `handles_outages` is whether the journal detects outages instead of the
    /// client.
    pub(crate) fn new(max_active: Option<usize>, handles_outages: bool) -> Self {
        let (limit, outage) = (Limit::new(max_active), Outage::new(handles_outages));
        let (held, waiting) = (VecDeque::new(), VecDeque::new());
        Self {
            state: Mutex::new(State { limit, outage, sending: 0, held, waiting }),
            hasher: RandomState::new(),
            polling: sync::Mutex::default(),
        }
    }

    /// Frees the slots of a task with a final status.
    pub(super) fn release(self: &Arc<Self>, task: &TaskRef) {
        let hash = self.hash(task);
        let mut state = self.state.lock();
        let before = state.held.len();
        state.held.retain(|(other, held)| *other != hash || held.identity() != task.identity());
        for _ in state.held.len()..before {
            state.limit.ended();
        }
        drop(state);
        self.grant();
    }

    /// Returns a slot if one is free. If the program has set no limit, the service decides how many
    /// tasks it accepts, so a slot is free except during an outage.
    pub(super) fn try_slot(self: &Arc<Self>) -> Result<Slot, Error> {
        let mut state = self.state.lock();
        if let Some(wait) = state.outage.wait() {
            return Err(outage(wait));
        }
        if state.limit.is_set() && !state.has_free() {
            let limit = state.limit.most();
            let message = format!("all slots for active tasks are in use (limit: {limit})");
            return Err(Error::new(ErrorKind::RateLimited, message)
                .with_advice("nothing was sent; submit when a task has finished")
                .with_function("Client::submit"));
        }
        let is_probe = state.start();
        drop(state);
        Ok(self.slot(is_probe))
    }

    /// Returns why no slot became free in time.
    pub(super) fn late(&self) -> Error {
        self.state.lock().outage.wait().map_or_else(no_slot, outage)
    }

    /// Records that the service has refused a submission because of too many requests.
    pub(super) fn refused(&self) {
        let mut state = self.state.lock();
        let active = state.held.len();
        state.limit.refused(active);
    }

    /// Returns whether a refused submission should wait until a task of this client ends, because
    /// more tasks are active or being submitted than the service allows.
    pub(super) fn are_exceeded(&self) -> bool {
        let state = self.state.lock();
        let used = state.sending + state.held.len();
        !state.limit.is_set() && !state.held.is_empty() && used > state.limit.most()
    }

    /// Returns a receiver of the next free slot. A submission that was refused comes first.
    fn queue(self: &Arc<Self>, was_refused: bool) -> oneshot::Receiver<Slot> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        // Closed entries are removed before the queue grows, so that its size depends only on the
        // submissions that still wait.
        if state.waiting.len() == state.waiting.capacity() {
            state.waiting.retain(|waiting| !waiting.is_closed());
        }
        if was_refused {
            state.waiting.push_front(sender);
        } else {
            state.waiting.push_back(sender);
        }
        drop(state);
        self.grant();
        receiver
    }

    /// Gives the free slots to the submissions that wait for them.
    fn grant(self: &Arc<Self>) {
        loop {
            let Some((waiting, is_probe)) = self.state.lock().next() else { return };
            // The lock is not held here: if nobody receives the slot, it is dropped, which takes
            // the lock.
            drop(waiting.send(self.slot(is_probe)));
        }
    }

    fn slot(self: &Arc<Self>, is_probe: bool) -> Slot {
        Slot { slots: Arc::clone(self), is_probe, reaction: Reaction::Other }
    }

    fn hash(&self, task: &TaskRef) -> u64 {
        self.hasher.hash_one(task.id())
    }
}

impl Shared {
    /// Waits for a free slot. In the meantime, polls the tasks that hold a slot. A poll with a
    /// final status frees the slot of its task.
    pub(crate) async fn slot(self: &Arc<Self>, was_refused: bool) -> Result<Slot, Error> {
        let slots = &self.slots;
        let mut free = pin!(slots.queue(was_refused));
        let started = Instant::now();
        let (mut backoff, mut has_warned) = (Backoff::new(FIRST_PAUSE, LONGEST_PAUSE), false);
        let is_set = slots.state.lock().limit.is_set();
        // Time only shortens a pause, so a longer remaining time means that a new pause has begun.
        let mut announced = None;
        loop {
            let pause = backoff.pause();
            let (outage, left) = {
                let outage = &slots.state.lock().outage;
                (outage.wait(), outage.pause())
            };
            if left > announced {
                left.inspect(|wait| self.announce_outage(*wait));
            }
            announced = left;
            let polling = async {
                time::sleep(pause).await;
                self.poll_held().await
            };
            tokio::select! {
                biased;
                // The sender is never dropped. If it were, the submission would run without
                // waiting.
                slot = &mut free => return slot.or_else(|_| slots.try_slot()),
                polled = polling => polled?,
                () = time::sleep(outage.unwrap_or_default()), if outage.is_some() => slots.grant(),
                () = self.submissions.retries_stopped(), if !is_set => return Err(stopped()),
            }
            if is_set && !has_warned && started.elapsed() >= LONG_WAIT {
                has_warned = true;
                let active_tasks = slots.state.lock().limit.most();
                tracing::warn!(active_tasks, "a submission is waiting for a slot");
            }
        }
    }

    fn announce_outage(&self, wait: Duration) {
        self.service.middlewares.announce(&Retry {
            purpose: Purpose::Submission,
            operation: None,
            task_id: None,
            failures: 0,
            attempts: None,
            wait,
            error: &outage(wait),
        });
    }

    /// Polls the tasks that hold a slot and have no active wait.
    async fn poll_held(self: &Arc<Self>) -> Result<(), Error> {
        let slots = &self.slots;
        let Ok(_guard) = slots.polling.try_lock() else { return Ok(()) };
        let (is_set, most, held) = {
            let mut state = slots.state.lock();
            state.limit.waited();
            let tasks = state.held.iter().filter(|_| state.limit.is_known());
            let held: Vec<_> = tasks.map(|(_, task)| Arc::clone(task)).collect();
            (state.limit.is_set(), state.limit.most(), held)
        };
        slots.grant();
        let mut failures = Vec::new();
        for task in held.into_iter().filter(|task| !self.waits.has(task)) {
            let polled = Task::resumed(Arc::clone(self), TaskRef::clone(&task));
            match polled.poll_within(self.settings.poll_deadline, 0).await {
                Err(error) if error.wait_end().is_none() => {}
                Err(error) if is_set => failures.push(error),
                // The program has set no limit, so the service decides whether this task still
                // counts.
                Err(_) => slots.release(&task),
                Ok(_) => {}
            }
        }
        match failures.pop() {
            Some(error) if failures.len() + 1 == most => Err(Error::new(
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

fn no_slot() -> Error {
    Error::new(ErrorKind::Deadline, "no slot became free before the deadline")
        .with_advice("nothing was sent; wait for a task to finish, or allow more active tasks")
        .with_function("ClientBuilder::max_active")
}

fn outage(wait: Duration) -> Error {
    let message = "the service does not say whether it accepted the last submissions";
    Error::new(ErrorKind::Outage, message)
        .with_retry_after(Some(wait))
        .with_advice("nothing was sent; the client submits again after a pause")
        .with_function("Error::retry_after")
}

fn stopped() -> Error {
    let message = "the client has as many active tasks as the service allows";
    Error::new(ErrorKind::RateLimited, message)
        .with_advice("nothing was sent; submissions no longer wait, because retries were stopped")
        .with_function("Client::stop_retrying_submissions")
}
