//! What the submissions of the history have cost.

use serde::Serialize;

use super::{Entry, prices::Prices, read};
use crate::{failure::Failure, process::Process, text::times::Clock};
use imagekiln::journal::State;

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

/// The submissions of a day with the same model, profile, group and ledger, each of which may be
/// empty.
pub struct Row {
    pub day: String,
    pub values: [String; 4],
    pub sum: Sum,
}

impl Sum {
    pub fn add(&mut self, other: Self) {
        self.submissions += other.submissions;
        self.without_cost += other.without_cost;
        self.credits += other.credits;
        self.estimated += other.estimated;
    }
}

/// Adds a row for each submission that was billed, or may have been. Returns the number of
/// submissions that cannot be read.
pub fn add(process: &Process, mut add: impl FnMut(Row)) -> Result<u64, Failure> {
    let (mut damaged, mut entries) = (0, Vec::new());
    for found in read(process)? {
        match found {
            Ok(entry) if may_be_billed(&entry) => entries.push(entry),
            Ok(_) => {}
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
        let values = [String::new(), entry.model(), profile, String::new()];
        add(Row { day: clock.day(entry.at()), values, sum });
    }
    Ok(damaged)
}

/// Whether a submission was billed, or may have been. A submission without a task that a person has
/// dismissed does not count.
fn may_be_billed(entry: &Entry) -> bool {
    entry.record.task().is_some() || *entry.record.state() != State::Settled
}
