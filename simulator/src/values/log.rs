//! A log of numbered entries that drops the oldest.

use std::collections::VecDeque;

use super::saved::{RestoreError, Restored, check_count, check_length};

pub(crate) struct NumberedLog<T> {
    entries: VecDeque<T>,
    written: u64,
    /// The number of entries that were dropped, because there were too many.
    dropped: u64,
    max_kept: usize,
}

impl<T> NumberedLog<T> {
    pub(crate) fn new(max_kept: usize) -> Self {
        Self { entries: VecDeque::new(), written: 0, dropped: 0, max_kept }
    }

    /// The log with these entries, oldest first, whose numbers are consecutive.
    pub(crate) fn restore(
        max_kept: usize,
        entries: &[T],
        number: impl Fn(&T) -> u64,
    ) -> Restored<Self>
    where
        T: Clone,
    {
        check_length(entries.len(), max_kept, "")?;
        let written = entries.last().map_or(0, &number);
        check_count(written, "")?;
        let place = |index: usize| format!("[{index}].number");
        let dropped = written.checked_sub(entries.len() as u64);
        for (index, entry) in entries.iter().enumerate() {
            if dropped.map(|dropped| dropped + index as u64 + 1) != Some(number(entry)) {
                return Err(RestoreError::new(place(index), "the numbers are not consecutive"));
            }
        }
        let entries = entries.iter().cloned().collect();
        Ok(Self { entries, written, dropped: dropped.unwrap_or(0), max_kept })
    }

    /// Writes the entry that `entry` makes from its number, counted from 1.
    pub(crate) fn write(&mut self, entry: impl FnOnce(u64) -> T) {
        self.written += 1;
        self.entries.push_back(entry(self.written));
        if self.entries.len() > self.max_kept {
            self.entries.pop_front();
            self.dropped += 1;
        }
    }

    /// Removes the entries for which `keep` returns false. Once none is left, no entry counts as
    /// dropped.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.entries.retain(keep);
        if self.entries.is_empty() {
            self.dropped = 0;
        }
    }

    /// The number of entries since the start.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The number of entries that have been dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The kept entries, newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_are_dropped() {
        let mut log = NumberedLog::new(3);
        for _ in 0..5 {
            log.write(|number| number);
        }
        assert_eq!(log.newest().copied().collect::<Vec<_>>(), [5, 4, 3]);
        assert_eq!((log.written(), log.dropped()), (5, 2));
    }
}
