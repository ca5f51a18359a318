//! A map of bounded size that evicts the oldest entries.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

pub(crate) struct Recent<K, V> {
    capacity: usize,
    values: HashMap<K, V>,
    /// The keys in insertion order.
    order: VecDeque<K>,
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, values: HashMap::new(), order: VecDeque::new() }
    }

    /// Adds a value, unless the key already has one. Returns whether the value was added.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_is_evicted_first() {
        let mut recent = Recent::new(2);
        for (key, value) in [("a", 1), ("b", 2), ("b", 3), ("c", 4)] {
            assert_eq!(recent.add(key, value), value != 3);
        }
        assert_eq!(
            [recent.get(&"a"), recent.get(&"b"), recent.get(&"c")],
            [None, Some(&2), Some(&4)]
        );
        assert_eq!((recent.values.len(), recent.order.len()), (2, 2));
    }
}
