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

impl<K: Hash + Eq + Clone, V: Default> Recent<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, values: HashMap::new(), order: VecDeque::new() }
    }

    /// Returns the value of a key, which is added if it is missing.
    pub(crate) fn get_or_add(&mut self, key: K) -> &mut V {
        if !self.values.contains_key(&key) {
            if self.order.len() >= self.capacity
                && let Some(first) = self.order.pop_front()
            {
                self.values.remove(&first);
            }
            self.order.push_back(key.clone());
        }
        self.values.entry(key).or_default()
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
            *recent.get_or_add(key) += value;
        }
        assert_eq!(
            [recent.get(&"a"), recent.get(&"b"), recent.get(&"c")],
            [None, Some(&5), Some(&4)]
        );
        assert_eq!((recent.values.len(), recent.order.len()), (2, 2));
    }
}
