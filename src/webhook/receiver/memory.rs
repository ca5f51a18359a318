//! Which events and tasks have been handled, and which are being handled.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{task::Recent, webhook::event::Fingerprint};

/// How many events and how many tasks are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 10_000;

pub(super) struct Memory {
    /// The events that were confirmed and handled.
    pub(super) events: Arc<Once<Fingerprint>>,
    /// The tasks that were handed to the handler.
    pub(super) tasks: Arc<Once<String>>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { events: Arc::new(Once::new()), tasks: Arc::new(Once::new()) }
    }
}

/// Lets something be done once for each key, as long as the key is remembered.
pub(super) struct Once<K>(Mutex<State<K>>);

struct State<K> {
    under_way: HashSet<K>,
    done: Recent<K, ()>,
}

impl<K: Hash + Eq + Clone> Once<K> {
    fn new() -> Self {
        Self(Mutex::new(State { under_way: HashSet::new(), done: Recent::new(REMEMBERED) }))
    }

    /// Begins what is done for `key`, unless it was done or is under way.
    pub(super) fn begin(self: &Arc<Self>, key: K) -> Option<UnderWay<K>> {
        let mut state = self.lock();
        if state.done.get(&key).is_some() || !state.under_way.insert(key.clone()) {
            return None;
        }
        drop(state);
        Some(UnderWay { once: Arc::clone(self), key })
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was begun. If it is dropped before it is done, it may be begun again.
pub(super) struct UnderWay<K: Hash + Eq + Clone> {
    once: Arc<Once<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> UnderWay<K> {
    pub(super) fn done(self) {
        self.once.lock().done.add(self.key.clone(), ());
    }
}

impl<K: Hash + Eq + Clone> Drop for UnderWay<K> {
    fn drop(&mut self) {
        self.once.lock().under_way.remove(&self.key);
    }
}
