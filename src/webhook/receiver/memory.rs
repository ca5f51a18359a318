//! Remembers events and tasks that have been handled or are in progress.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OwnedSemaphorePermit;

use crate::{TaskStatus, task::Recent, webhook::event::Fingerprint};

/// An event that waits for confirmation.
pub(super) struct PendingEvent {
    pub(super) claimed_status: Option<TaskStatus>,
    pub(super) in_progress: InProgress<Fingerprint>,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// The events that wait for the follower of their task, by task id. Each task has one follower, so
/// that many events about it do not each poll it.
#[derive(Default)]
pub(super) struct Followers(Mutex<HashMap<String, Vec<PendingEvent>>>);

impl Followers {
    /// Adds an event. Returns `true` if the task has no follower yet: the caller starts it.
    pub(super) fn add(&self, task_id: &str, event: PendingEvent) -> bool {
        let mut followers = self.lock();
        let is_first = !followers.contains_key(task_id);
        followers.entry(task_id.to_owned()).or_default().push(event);
        is_first
    }

    /// Returns the events that have arrived since the last call, or `None` if there are none, which
    /// ends the follower.
    pub(super) fn take(&self, task_id: &str) -> Option<Vec<PendingEvent>> {
        let mut followers = self.lock();
        let events = std::mem::take(followers.get_mut(task_id)?);
        if events.is_empty() {
            followers.remove(task_id);
            return None;
        }
        Some(events)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<PendingEvent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Allows one execution for each remembered key.
pub(super) struct Once<K>(Mutex<Keys<K>>);

struct Keys<K> {
    in_progress: HashSet<K>,
    done: Recent<K, ()>,
}

impl<K: Hash + Eq + Clone> Once<K> {
    pub(super) fn new() -> Arc<Self> {
        let keys = Keys { in_progress: HashSet::new(), done: Recent::default() };
        Arc::new(Self(Mutex::new(keys)))
    }

    /// Begins the execution for `key`, unless it is done or in progress.
    pub(super) fn begin(self: &Arc<Self>, key: K) -> Option<InProgress<K>> {
        let mut state = self.lock();
        if state.done.get(&key).is_some() || !state.in_progress.insert(key.clone()) {
            return None;
        }
        drop(state);
        Some(InProgress { once: Arc::clone(self), key })
    }

    fn lock(&self) -> MutexGuard<'_, Keys<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An execution in progress. Dropping it before it is done allows another one.
pub(super) struct InProgress<K: Hash + Eq + Clone> {
    once: Arc<Once<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> InProgress<K> {
    pub(super) fn done(self) {
        self.once.lock().done.get_or_add(self.key.clone());
    }
}

impl<K: Hash + Eq + Clone> Drop for InProgress<K> {
    fn drop(&mut self) {
        self.once.lock().in_progress.remove(&self.key);
    }
}
