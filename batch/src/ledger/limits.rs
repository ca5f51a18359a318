//! The limits of submissions: pauses, caps on active tasks and budgets, of the whole ledger, of an
//! operation, and of a group.

use std::{collections::BTreeMap, error, fmt};

use super::database::{Database, Value};
use crate::{Error, ErrorKind, Scope};

/// The limits of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunLimits {
    /// The maximum number of jobs between their submission and the saved picture.
    pub(crate) max_active: usize,
    /// The credits that all submissions may cost, unless the ledger has a budget.
    pub(crate) budget: Option<f64>,
    /// The price of a submission whose operation has no known price, in credits.
    pub(crate) price: Option<f64>,
}

/// What a submission counts for.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) operation: &'a str,
    pub(super) group: Option<&'a str>,
}

impl Subject<'_> {
    /// Returns the scopes whose limits hold for the submission.
    pub(super) fn scopes(self) -> Vec<Scope> {
        let group = self.group.map(|group| Scope::Group(group.to_owned()));
        [Scope::Ledger, Scope::Operation(self.operation.to_owned())]
            .into_iter()
            .chain(group)
            .collect()
    }
}

/// A limit does not allow a submission.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LimitReached {
    pub(crate) scope: Scope,
    pub(crate) limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    Paused,
    ActiveTasks {
        most: u64,
    },
    Budget {
        credits: f64,
        /// What the submissions have cost, and what those without a known cost may cost.
        committed: f64,
        price: Option<f64>,
        /// Whether what is known to be spent leaves too little for the submission.
        is_spent: bool,
    },
}

impl LimitReached {
    fn kind(&self) -> ErrorKind {
        match self.limit {
            Limit::Paused => ErrorKind::Paused,
            Limit::ActiveTasks { .. } => ErrorKind::ActiveTasks,
            Limit::Budget { .. } => ErrorKind::Budget,
        }
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = &self.scope;
        match self.limit {
            Limit::Paused => write!(f, "{scope} is paused; resume it to submit"),
            Limit::ActiveTasks { most } => {
                write!(f, "{scope} may have {most} active tasks, and has as many")
            }
            Limit::Budget { credits, committed, price, .. } => {
                write!(
                    f,
                    "the budget of {scope} is used up: {committed:.2} of {credits:.2} credits are \
                     spent or reserved"
                )?;
                match price {
                    Some(price) => write!(f, ", and the submission may cost {price:.2}"),
                    None => f.write_str(", and the price of the submission is not known"),
                }
            }
        }
    }
}

impl error::Error for LimitReached {}

impl From<LimitReached> for Error {
    fn from(limit: LimitReached) -> Self {
        Self::new(limit.kind(), limit.to_string()).with_limited(limit.scope)
    }
}

/// What a person or a program set for a scope.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StoredLimit {
    pub(super) budget: Option<f64>,
    pub(super) max_active: Option<i64>,
    pub(super) is_paused: bool,
}

type LimitColumns = (String, String, Option<f64>, Option<i64>, Option<i64>);

/// The limits of some scopes.
#[derive(Default)]
pub(super) struct Limits(pub(super) BTreeMap<Scope, StoredLimit>);

impl Limits {
    pub(super) async fn read(
        database: &mut Database,
        condition: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> sqlx::Result<Self> {
        let find = format!(
            "SELECT scope, name, budget, max_active, paused_at FROM limits WHERE {condition}"
        );
        let rows = database.rows::<LimitColumns>(&find, values).await?;
        let limits = rows.into_iter().map(|(scope, name, budget, max_active, paused_at)| {
            let limit = StoredLimit { budget, max_active, is_paused: paused_at.is_some() };
            (Scope::of_columns(&scope, name), limit)
        });
        Ok(Self(limits.collect()))
    }

    /// Returns the limit of a scope. A group has those of each group that it does not have itself.
    pub(super) fn of(&self, scope: &Scope) -> StoredLimit {
        let own = self.0.get(scope).copied().unwrap_or_default();
        let Scope::Group(_) = scope else { return own };
        let each = self.0.get(&Scope::EachGroup).copied().unwrap_or_default();
        StoredLimit {
            budget: own.budget.or(each.budget),
            max_active: own.max_active.or(each.max_active),
            is_paused: own.is_paused || each.is_paused,
        }
    }
}
