//! The costs of earlier submissions, which are the expected cost of a submission whose response was
//! lost.

use std::collections::HashMap;

use super::{Entry, read};
use crate::process::Process;
use imagekiln::journal::State;

impl Entry {
    /// Whether the response was lost, and no process is waiting for it any longer.
    pub fn is_unknown(&self) -> bool {
        *self.record.state() == State::Unknown && !self.is_in_use
    }
}

/// The highest known cost of each operation in the history, in credits.
#[derive(Default)]
pub struct Prices(HashMap<String, f64>);

impl Prices {
    /// Reads the whole history, unless none of the entries is unknown.
    pub fn for_unknown<'e>(
        process: &Process,
        entries: impl IntoIterator<Item = &'e Entry>,
    ) -> Self {
        if !entries.into_iter().any(Entry::is_unknown) {
            return Self::default();
        }
        Self::of(read(process).into_iter().flatten().flatten())
    }

    /// Returns the costs of these submissions.
    pub fn of(entries: impl IntoIterator<Item = impl std::borrow::Borrow<Entry>>) -> Self {
        let mut prices = HashMap::new();
        for entry in entries {
            let entry = entry.borrow();
            let Some(cost) = entry.cost() else { continue };
            let operation = entry.record.intent().operation().to_owned();
            let highest = prices.entry(operation).or_insert(cost);
            *highest = highest.max(cost);
        }
        Self(prices)
    }

    /// Returns the expected cost of an unknown submission, if a cost of its operation is known.
    pub fn expected(&self, entry: &Entry) -> Option<f64> {
        self.highest(entry).filter(|_| entry.is_unknown())
    }

    /// Returns the highest known cost of the operation of a submission, in credits.
    pub fn highest(&self, entry: &Entry) -> Option<f64> {
        self.0.get(entry.record.intent().operation()).copied()
    }
}
