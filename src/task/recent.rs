//! A map that forgets what was added first, so that its memory is bounded.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

pub(crate) struct Recent<K, V> {
    capacity: usize,
    values: HashMap<K, V>,
    /// The keys in the order in which they were added; a removed one stays until it would be forgotten.
    order: VecDeque<K>,
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, values: HashMap::new(), order: VecDeque::new() }
    }

    /// Adds a value, unless there is one. Says whether it was added.
    pub(crate) fn add(&mut self, key: K, value: V) -> bool {
        if self.values.contains_key(&key) {
            return false;
        }
        if self.order.len() >= self.capacity
            && let Some(first) = self.order.pop_front()
        {
            self.values.remove(&first);
        }
        self.order.push_back(key.clone());
        self.values.insert(key, value);
        true
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }
}
