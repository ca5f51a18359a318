//! A map of bounded size that evicts the oldest entries.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use super::REMEMBERED;

pub(crate) struct Recent<K, V> {
    values: HashMap<K, V>,
    /// The keys in insertion order.
    order: VecDeque<K>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Hash + Eq + Clone, V: Default> Recent<K, V> {
    /// Returns the value of a key, which is added if it is missing.
    pub(crate) fn get_or_add(&mut self, key: K) -> &mut V {
        if !self.values.contains_key(&key) {
            if self.order.len() >= REMEMBERED
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
        let mut recent = Recent::default();
        for key in (0..=REMEMBERED).chain([1]) {
            *recent.get_or_add(key) += 1;
        }
        assert_eq!([0, 1, REMEMBERED].map(|key| recent.get(&key)), [None, Some(&2), Some(&1)]);
        assert_eq!((recent.values.len(), recent.order.len()), (REMEMBERED, REMEMBERED));
    }
}
