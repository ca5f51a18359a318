//! What the submissions of the history have cost, and what a submission without a known cost is
//! expected to cost: the highest known cost of its operation.

use std::collections::HashMap;

use serde::Serialize;

use super::{Entry, read};
use crate::{failure::Failure, process::Process, text::Clock};
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

/// Submissions that were billed, or may have been.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Sum {
    pub submissions: u64,
    /// The number of submissions whose cost is not known.
    pub without_cost: u64,
    /// The sum of the known costs in credits.
    pub credits: f64,
    /// What the submissions without a known cost are expected to cost, in credits.
    pub estimated: f64,
}

/// The day, the group, the model, the profile and the ledger of submissions. All but the day may be
/// empty.
pub type Key = [String; 5];

impl Sum {
    pub fn add(&mut self, other: Self) {
        self.submissions += other.submissions;
        self.without_cost += other.without_cost;
        self.credits += other.credits;
        self.estimated += other.estimated;
    }
}

/// Passes to `add` each submission that was billed, or may have been. Returns the number of
/// submissions that cannot be read.
pub fn add(process: &Process, mut add: impl FnMut(Key, Sum)) -> Result<u64, Failure> {
    let (mut damaged, mut entries) = (0, Vec::new());
    for found in read(process)? {
        match found {
            // A person has dismissed a submission without a task.
            Ok(entry)
                if entry.record.task().is_none() && *entry.record.state() == State::Settled => {}
            Ok(entry) => entries.push(entry),
            Err(_) => damaged += 1,
        }
    }
    let (prices, clock) = (Prices::of(&entries), Clock::utc());
    for entry in &entries {
        let cost = entry.cost();
        let sum = Sum {
            submissions: 1,
            without_cost: u64::from(cost.is_none()),
            credits: cost.unwrap_or_default(),
            estimated: prices.highest(entry).filter(|_| cost.is_none()).unwrap_or_default(),
        };
        let profile = entry.kept.profile.clone().unwrap_or_default();
        add([clock.day(entry.at()), String::new(), entry.model(), profile, String::new()], sum);
    }
    Ok(damaged)
}
