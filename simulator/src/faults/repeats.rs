//! Remembers repeated submissions, so that a client that retries eventually succeeds.

use std::collections::{HashMap, VecDeque};

use super::grammar::FaultSpec;

/// The maximum number of submissions to remember; the oldest is dropped.
const MAX_REPEATS: usize = 1024;

#[derive(Clone, Default)]
pub(super) struct Repeats {
    /// How often each fault of a submission has been applied.
    applied: HashMap<[u8; 32], Vec<u64>>,
    /// In the order of their first attempt.
    order: VecDeque<[u8; 32]>,
}

impl Repeats {
    pub(super) fn recall(&self, repeat: &[u8; 32], requested: &mut [FaultSpec]) {
        let known = self.applied.get(repeat).into_iter().flatten();
        for (spec, applied) in requested.iter_mut().zip(known) {
            spec.applied = *applied;
        }
    }

    pub(super) fn keep(&mut self, repeat: [u8; 32], requested: &[FaultSpec]) {
        let applied = requested.iter().map(|spec| spec.applied).collect();
        if self.applied.insert(repeat, applied).is_none() {
            self.order.push_back(repeat);
        }
        if self.order.len() > MAX_REPEATS
            && let Some(oldest) = self.order.pop_front()
        {
            self.applied.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::grammar::FaultSource, *};

    #[test]
    fn the_number_of_remembered_submissions_is_limited() {
        let mut repeats = Repeats::default();
        let mut requested = [FaultSpec::parse("html-502:9x", FaultSource::Submission).unwrap()];
        let number = |number: usize| {
            let mut repeat = [0; 32];
            repeat[..8].copy_from_slice(&number.to_be_bytes());
            repeat
        };
        for repeat in 0..=MAX_REPEATS {
            requested[0].applied = repeat as u64 + 1;
            repeats.keep(number(repeat), &requested);
        }
        assert_eq!((repeats.applied.len(), repeats.order.len()), (MAX_REPEATS, MAX_REPEATS));
        for (repeat, applied) in [(0, 0), (1, 2), (MAX_REPEATS, MAX_REPEATS as u64 + 1)] {
            requested[0].applied = 0;
            repeats.recall(&number(repeat), &mut requested);
            assert_eq!(requested[0].applied, applied);
        }
    }
}
