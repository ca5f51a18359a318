//! The limits of submissions: pauses, rates, active tasks and budgets, of the whole ledger,
//! of an operation, and of a group.

pub(super) mod active;
pub(super) mod admission;
pub(super) mod control;
mod held;
pub(super) mod outage;
pub(super) mod spending;

use std::{collections::BTreeMap, error, fmt};

use imagekiln::text::Credits;
use imagekiln_label::{checked_credits, megapixels};

use self::outage::Outage;
use crate::{
    Error, ErrorKind, JobStatus, Price, Scope,
    ledger::database::{Database, Value},
    price::refused,
};

/// The limits of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunLimits {
    /// The maximum number of jobs between their submission and the saved picture.
    pub(crate) max_active: usize,
    /// The credits that all submissions may cost, unless the ledger has a budget.
    pub(crate) budget: Option<f64>,
    /// The price of submissions whose operation has no price in the ledger.
    pub(crate) price: Option<Price>,
}

impl RunLimits {
    /// Refuses amounts that are negative, infinite or not numbers.
    pub(crate) fn check(self) -> Result<(), Error> {
        let budget = self.budget.map(|credits| checked_credits("budget", credits)).transpose();
        budget.and(self.price.map(Price::checked).transpose()).map(drop).map_err(refused)
    }
}

/// The operation and the group of a submission, for whose limits the submission counts.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) operation: &'a str,
    pub(super) group: Option<&'a str>,
}

impl<'a> Subject<'a> {
    pub(super) fn of(job: &'a JobStatus) -> Self {
        Self { operation: &job.operation, group: job.group.as_deref() }
    }

    /// Returns the scopes whose limits hold for the submission.
    pub(super) fn scopes(self) -> Vec<Scope> {
        let group = self.group.map(|group| Scope::Group(group.to_owned()));
        [Scope::Ledger, Scope::Operation(self.operation.to_owned())]
            .into_iter()
            .chain(group)
            .collect()
    }
}

/// The limit that does not allow a submission, and its scope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LimitReached {
    pub(crate) scope: Scope,
    pub(crate) limit: Limit,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Limit {
    Paused,
    Outage(Box<Outage>),
    ActiveTasks {
        most: u64,
    },
    /// `wait` is in milliseconds.
    Rate {
        per_minute: u64,
        wait: u64,
    },
    /// There is a budget, and the price is not known. An earlier submission of the operation is
    /// open, and its response has to show the cost first.
    UnknownPrice,
    Budget {
        credits: f64,
        /// What the submissions have cost, plus what the submissions without a known cost may cost.
        committed: f64,
        /// What the submission may cost.
        cost: Option<f64>,
        /// The pixels of its picture, if its price depends on them.
        pixels: Option<u64>,
        /// Whether the known costs alone leave too little for the submission. Otherwise, credits
        /// that are reserved for open submissions may become free again.
        is_spent: bool,
    },
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = &self.scope;
        match &self.limit {
            Limit::Paused => write!(f, "{scope} is paused; resume it to submit"),
            Limit::Outage(outage) => fmt::Display::fmt(outage, f),
            Limit::ActiveTasks { most } => {
                write!(f, "{scope} may have {most} active tasks, and has as many")
            }
            Limit::Rate { per_minute, wait } => {
                let seconds = wait.div_ceil(1000);
                write!(f, "the rate of {scope}, {per_minute} a minute, is used up; ")?;
                write!(f, "try again in {seconds} s")
            }
            Limit::UnknownPrice => write!(
                f,
                "{scope} has a budget, and the price of the submission is not known before the \
                 service has responded to an earlier one; try again then, or set the price"
            ),
            Limit::Budget { credits, committed, cost, pixels, .. } => {
                let [committed, credits] = [*committed, *credits].map(Credits);
                write!(
                    f,
                    "the budget of {scope} is used up: {committed:.2} of {credits:.2} credits are \
                     spent or reserved"
                )?;
                match (cost.map(Credits), pixels.map(megapixels)) {
                    (Some(cost), Some(size)) => {
                        write!(f, ", and a submission of {size} megapixels may cost {cost:.2}")
                    }
                    (Some(cost), None) => write!(f, ", and the submission may cost {cost:.2}"),
                    (None, _) => f.write_str(", and the price of the submission is not known"),
                }
            }
        }
    }
}

impl error::Error for LimitReached {}

impl From<Box<Outage>> for LimitReached {
    fn from(outage: Box<Outage>) -> Self {
        Self { scope: outage.scope.clone(), limit: Limit::Outage(outage) }
    }
}

impl From<LimitReached> for Error {
    fn from(reached: LimitReached) -> Self {
        let kind = match reached.limit {
            Limit::Paused => ErrorKind::Paused,
            Limit::Outage(_) => ErrorKind::Outage,
            Limit::ActiveTasks { .. } => ErrorKind::ActiveTasks,
            Limit::Rate { .. } => ErrorKind::Rate,
            Limit::UnknownPrice | Limit::Budget { .. } => ErrorKind::Budget,
        };
        Self::new(kind, reached.to_string()).with_limited(reached.scope)
    }
}

/// What a person or a program set for a scope.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StoredLimit {
    pub(super) budget: Option<f64>,
    pub(super) max_active: Option<i64>,
    pub(super) is_paused: bool,
    /// Submissions per minute.
    pub(super) rate: Option<i64>,
    /// The next turn: when the rate allows the next submission, in milliseconds since the Unix
    /// epoch.
    pub(super) next_at: i64,
}

/// The time over which the submissions of a minute are spread, in milliseconds: a minute and
/// [`EARLY`], so that no minute has more submissions than the rate, even if some start early.
const TURNS: i64 = 61_000;

/// How much earlier than its turn a submission may start, in milliseconds. A worker looks for jobs
/// once a second, and would otherwise miss turns.
const EARLY: i64 = 1000;

impl StoredLimit {
    /// Returns how many submissions the rate allows at the time `now`, in milliseconds, or `None`
    /// if there is no rate.
    pub(super) fn turns(&self, now: i64) -> Option<i64> {
        let turn = self.turn()?;
        let early = now + EARLY - self.next(now);
        Some(if early < 0 { 0 } else { early / turn + 1 })
    }

    fn next(&self, now: i64) -> i64 {
        // A turn that is later than possible means that the clock was set back.
        if self.next_at > now + EARLY + TURNS { now } else { self.next_at.max(now) }
    }

    /// Returns the time between two submissions in milliseconds, if there is a rate.
    fn turn(&self) -> Option<i64> {
        let rate = self.rate?.clamp(1, TURNS);
        Some((TURNS + rate - 1) / rate)
    }

    /// Returns the value of `next_at` after a submission.
    fn next_after(&self, now: i64) -> Option<i64> {
        Some(self.next(now) + self.turn()?)
    }

    /// Returns the rate as the limit that is reached, if it allows no submission now.
    pub(super) fn reached_rate(&self, now: i64) -> Option<Limit> {
        if self.turns(now)? > 0 {
            return None;
        }
        let wait = (self.next(now) - EARLY - now).unsigned_abs();
        Some(Limit::Rate { per_minute: self.rate?.unsigned_abs(), wait })
    }
}

/// The limits of some scopes.
pub(super) struct StoredLimits(BTreeMap<Scope, StoredLimit>);

impl StoredLimits {
    pub(super) fn read(
        database: &mut Database,
        condition: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Self, Error> {
        type Columns =
            (String, String, Option<f64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>);
        let find = format!(
            "SELECT scope, name, budget, max_active, rate, next_at, paused_at
             FROM limits WHERE {condition}"
        );
        let rows = database.rows::<Columns>(&find, values)?.into_iter();
        let limits = rows.map(|(scope, name, budget, max_active, rate, next_at, paused_at)| {
            let (is_paused, next_at) = (paused_at.is_some(), next_at.unwrap_or_default());
            let limit = StoredLimit { budget, max_active, is_paused, rate, next_at };
            (Scope::of_columns(&scope, name), limit)
        });
        Ok(Self(limits.collect()))
    }

    /// Returns the limits that hold for a submission.
    pub(super) fn of_submission(
        database: &mut Database,
        subject: Subject<'_>,
    ) -> Result<Self, Error> {
        let condition = "scope = 'ledger' OR scope = 'operation' AND name = $1
            OR scope = 'group' AND $2 <> '' AND name IN ($2, '')";
        let group = subject.group.unwrap_or_default();
        Self::read(database, condition, [subject.operation.into(), group.into()])
    }

    /// Counts a submission for the rates of all these limits.
    pub(super) fn count_for_rates(&self, database: &mut Database) -> Result<(), Error> {
        let now = database.now();
        for (scope, limit) in &self.0 {
            let Some(next_at) = limit.next_after(now) else { continue };
            let (kind, name) = scope.columns();
            let count = "UPDATE limits SET next_at = $1 WHERE scope = $2 AND name = $3";
            database.execute(count, [next_at.into(), kind.into(), name.into()])?;
        }
        Ok(())
    }

    /// Returns the limits of a scope. A group inherits the limits of "each group" that are not set
    /// for the group itself.
    pub(super) fn of(&self, scope: &Scope) -> StoredLimit {
        let own = self.0.get(scope).copied().unwrap_or_default();
        let Scope::Group(_) = scope else { return own };
        let each = self.0.get(&Scope::EachGroup).copied().unwrap_or_default();
        StoredLimit {
            budget: own.budget.or(each.budget),
            max_active: own.max_active.or(each.max_active),
            is_paused: own.is_paused || each.is_paused,
            ..own
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A worker that submits whenever it may has as many submissions as the rate allows, and
        /// never more in any minute.
        #[test]
        fn no_minute_has_more_submissions_than_the_rate(rate in 1..3000i64, pause in 1..1500i64) {
            let mut limit = StoredLimit { rate: Some(rate), ..StoredLimit::default() };
            let (mut now, mut times) = (1_795_673_076_000, Vec::new());
            let end = now + 180_000;
            while now < end {
                for _ in 0..limit.turns(now).unwrap() {
                    prop_assert!(limit.reached_rate(now).is_none());
                    limit.next_at = limit.next_after(now).unwrap();
                    times.push(now);
                }
                prop_assert!(limit.reached_rate(now).is_some());
                now += pause;
            }
            let rate = rate.unsigned_abs() as usize;
            for (first, time) in times.iter().zip(times.iter().skip(rate)) {
                prop_assert!(time - first >= 60_000, "{} ms", time - first);
            }
            if pause <= EARLY {
                prop_assert!(times.len() * 100 >= rate * 3 * 90, "only {}", times.len());
            }
        }
    }
}
