//! Which submissions were repeated, so that a client that tries again gets through at last.

use std::collections::{HashMap, VecDeque};

use super::ask::Ask;

/// The oldest is forgotten beyond so many.
const MAX_REPEATS: usize = 1024;

#[derive(Default)]
pub(super) struct Repeats {
    /// How often each fault struck that the submission asks for.
    struck: HashMap<[u8; 32], Vec<u64>>,
    /// In the order of their first coming.
    order: VecDeque<[u8; 32]>,
}

impl Repeats {
    pub(super) fn recall(&self, repeat: &[u8; 32], asks: &mut [Ask]) {
        let known = self.struck.get(repeat).into_iter().flatten();
        for (ask, struck) in asks.iter_mut().zip(known) {
            ask.struck = *struck;
        }
    }

    pub(super) fn keep(&mut self, repeat: [u8; 32], asks: &[Ask]) {
        let struck = asks.iter().map(|ask| ask.struck).collect();
        if self.struck.insert(repeat, struck).is_none() {
            self.order.push_back(repeat);
        }
        if self.order.len() > MAX_REPEATS
            && let Some(oldest) = self.order.pop_front()
        {
            self.struck.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ask::Asker;
    use super::*;

    #[test]
    fn only_so_many_are_remembered() {
        let mut repeats = Repeats::default();
        let mut asks = [Ask::parse("html-502:9x", Asker::Submission).unwrap()];
        let number = |number: usize| {
            let mut repeat = [0; 32];
            repeat[..8].copy_from_slice(&number.to_be_bytes());
            repeat
        };
        for repeat in 0..=MAX_REPEATS {
            asks[0].struck = repeat as u64 + 1;
            repeats.keep(number(repeat), &asks);
        }
        assert_eq!((repeats.struck.len(), repeats.order.len()), (MAX_REPEATS, MAX_REPEATS));
        for (repeat, struck) in [(0, 0), (1, 2), (MAX_REPEATS, MAX_REPEATS as u64 + 1)] {
            asks[0].struck = 0;
            repeats.recall(&number(repeat), &mut asks);
            assert_eq!(asks[0].struck, struck);
        }
    }
}
