//! A log of numbered entries. If there are too many, it drops the oldest ones.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::MAX_COUNT;

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NumberedLog<T> {
    /// The kept entries, oldest first.
    entries: VecDeque<T>,
    written: u64,
    /// The number of entries that were dropped, because there were too many.
    #[serde(skip)]
    dropped: u64,
}

impl<T> Default for NumberedLog<T> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), written: 0, dropped: 0 }
    }
}

impl<T> NumberedLog<T> {
    /// Writes an entry, which `entry` creates from its number, counted from 1. If there are now
    /// more than `max_kept` entries, drops the oldest ones.
    pub(crate) fn write(&mut self, max_kept: usize, entry: impl FnOnce(u64) -> T) {
        self.written += 1;
        self.entries.push_back(entry(self.written));
        while self.entries.len() > max_kept {
            self.entries.pop_front();
            self.dropped += 1;
        }
    }

    /// Removes the entries for which `keep` returns false. If no entry is left, the number of
    /// dropped entries starts again at 0.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.entries.retain(keep);
        if self.entries.is_empty() {
            self.dropped = 0;
        }
    }

    /// The number of entries that were ever written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The number of entries that were dropped because there were too many.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether the numbers of the entries ascend, and do not exceed the number of the last written
    /// entry. That can be false only if the log was read from a snapshot.
    pub(crate) fn is_in_order(&self, number: impl Fn(&T) -> u64) -> bool {
        let numbers = self.entries.iter().map(number).chain([self.written.saturating_add(1)]);
        self.written <= MAX_COUNT && numbers.is_sorted_by(|one, next| one < next)
    }

    /// Yields the kept entries, newest first.
    pub(crate) fn newest(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.entries.iter().rev()
    }
}
