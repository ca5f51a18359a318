//! The cap on active tasks and the budget, which hold for the whole ledger.

use std::{error, fmt};

use super::{Ledger, database::Database};
use crate::Error;

/// Sums of prices such as 0.1 are inexact.
const TOLERANCE: f64 = 1e-6;

/// The limits of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunLimits {
    /// The maximum number of jobs between their submission and the saved picture.
    pub(crate) max_active: usize,
    /// The credits that all submissions may cost.
    pub(crate) budget: Option<f64>,
    /// The price of a submission whose operation has no known price, in credits.
    pub(crate) price: Option<f64>,
}

/// The submissions of an operation that were not withdrawn: the highest known cost of one in
/// credits, the sum of the known costs, the number of those without a known cost, and of those
/// without a response.
type Spending = (String, Option<f64>, f64, i64, i64);

/// Returns [`Spending`] by operation. The parts of an operation are those of the connections.
pub(super) const SPENDING: &str = "SELECT operation, MAX(price), SUM(credits),
        CAST(SUM(without_cost) AS BIGINT), CAST(SUM(open) AS BIGINT)
    FROM spending GROUP BY operation ORDER BY operation";

/// The number of jobs between their submission and the saved picture. Jobs that a worker left do
/// not count: their tasks may never become final.
pub(super) const ACTIVE: &str = "(SELECT COUNT(*) FROM jobs
    WHERE state IN ('submitting', 'submitted', 'ready') AND left_after IS NULL)";

/// Whether a submission may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Allowed,
    /// Its price is not known, and no other submission of its operation is open.
    Alone,
    /// It has to wait for other jobs, or for a larger limit.
    Refused(LimitReached),
}

/// The ledger refused a submission because of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitReached {
    ActiveTasks,
    Budget,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ActiveTasks => "the cap on active tasks does not allow the submission",
            Self::Budget => "the budget does not allow the submission",
        })
    }
}

impl error::Error for LimitReached {}

impl Ledger {
    /// Returns what the limits allow now. The decision is made again when the intent is written.
    pub(crate) async fn admission(
        &self,
        operation: &str,
        limits: RunLimits,
    ) -> Result<Admission, Error> {
        let operation = operation.to_owned();
        self.transaction(async move |database| {
            let active = database.value(&format!("SELECT {ACTIVE}"), []).await?;
            admission(database, &operation, limits, active).await
        })
        .await
    }
}

pub(super) async fn admission(
    database: &mut Database,
    operation: &str,
    limits: RunLimits,
    active: i64,
) -> Result<Admission, Error> {
    if active.unsigned_abs() >= limits.max_active as u64 {
        return Ok(Admission::Refused(LimitReached::ActiveTasks));
    }
    let Some(budget) = limits.budget else { return Ok(Admission::Allowed) };
    let spending: Vec<Spending> = database.rows(SPENDING, []).await?;
    let committed: f64 = spending
        .iter()
        .map(|(_, price, known, unpriced, _)| {
            known + *unpriced as f64 * price.or(limits.price).unwrap_or_default()
        })
        .sum();
    let of = spending.iter().find(|(known, ..)| known == operation);
    let is_first_open = of.is_none_or(|(.., open)| *open == 0);
    Ok(match of.and_then(|(_, price, ..)| *price).or(limits.price) {
        Some(price) if committed + price <= budget + TOLERANCE => Admission::Allowed,
        None if committed < budget && is_first_open => Admission::Alone,
        _ => Admission::Refused(LimitReached::Budget),
    })
}
