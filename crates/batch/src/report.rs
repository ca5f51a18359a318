//! The jobs of a ledger by state and operation.

use std::fmt;

use imagekiln::text::Credits;
use serde::Serialize;

use crate::JobState;

/// The number and the cost of jobs by state and operation.
///
/// `Display` prints a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The rows, ordered by state and operation.
    pub rows: Vec<ReportRow>,
}

/// The jobs of an operation in a state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReportRow {
    /// The state of the jobs.
    pub state: JobState,
    /// The name of the operation, such as `gen-2-pro`.
    pub operation: String,
    /// The number of jobs.
    pub jobs: u64,
    /// The cost in credits that the service reported.
    pub credits: f64,
    /// The number of jobs that were submitted and whose cost is not known. Some of them may not
    /// have been billed: those in the states [`Submitting`](JobState::Submitting) and
    /// [`Unknown`](JobState::Unknown).
    pub without_cost: u64,
    /// What the jobs without a known cost may cost in credits, by the
    /// [prices](crate::Limits::set_price) of their operations.
    pub estimated: f64,
}

/// The submissions of a group and an operation on a day.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SpendingRow {
    /// The day in UTC, such as `2026-11-26`.
    pub day: String,
    /// The group of the submissions, if they have one; see [`Job::group`](crate::Job::group).
    pub group: Option<String>,
    /// The name of the operation, such as `gen-2-pro`.
    pub operation: String,
    /// The number of submissions that were billed or may have been billed.
    pub submissions: u64,
    /// The known costs in credits.
    pub credits: f64,
    /// The number of submissions whose cost is not known.
    pub without_cost: u64,
    /// What the submissions without a known cost may cost in credits, by the
    /// [price](crate::Limits::set_price) of the operation.
    pub estimated: f64,
}

impl Report {
    /// Returns the number of jobs in a state.
    pub fn count(&self, state: JobState) -> u64 {
        self.rows.iter().filter(|row| row.state == state).map(|row| row.jobs).sum()
    }

    /// Returns the total cost in credits that the service reported.
    pub fn credits(&self) -> f64 {
        sum(self.rows.iter().map(|row| row.credits))
    }
}

/// Returns the sum of amounts. [`Iterator::sum`] returns negative zero if there are none, and
/// people would see `-0`.
pub(crate) fn sum(credits: impl Iterator<Item = f64>) -> f64 {
    credits.fold(0.0, |sum, credits| sum + credits)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ReportRow { state, operation, jobs, credits, without_cost, estimated } in &self.rows {
            let (credits, estimate) = (Credits(*credits), Credits(*estimated));
            write!(f, "{state:<10} {jobs:>6}  {credits:>10.2} credits  {operation}")?;
            match without_cost {
                0 => writeln!(f)?,
                _ if *estimated > 0.0 => writeln!(
                    f,
                    " ({without_cost} of unknown cost, estimated at {estimate:.2} credits)"
                )?,
                _ => writeln!(f, " ({without_cost} of unknown cost)")?,
            }
        }
        Ok(())
    }
}
