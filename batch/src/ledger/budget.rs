//! Whether the budget allows another submission.

use std::{error, fmt};

use sqlx::SqliteConnection;

use super::Ledger;
use crate::Error;

/// Sums of prices such as 0.1 are inexact.
const TOLERANCE: f64 = 1e-6;

/// The submissions of an operation that were not withdrawn.
#[derive(sqlx::FromRow)]
struct Spending {
    operation: String,
    /// The highest known cost of a submission, in credits.
    price: Option<f64>,
    /// The sum of the known costs.
    known: f64,
    /// The number of submissions without a known cost.
    unpriced: i64,
    /// The number of submissions without a response.
    open: i64,
}

/// Whether a submission may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Its highest known price fits into the budget.
    Fits,
    /// Its price is not known, and no other submission of its operation is open.
    Alone,
    /// It has to wait for other jobs, or for a larger budget.
    Refused,
}

/// The ledger refused a submission because of the budget.
#[derive(Debug)]
pub(crate) struct BudgetReached;

impl fmt::Display for BudgetReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the budget of the batch does not allow the submission")
    }
}

impl error::Error for BudgetReached {}

impl Ledger {
    /// Returns what the budget allows now. The decision is made again when the intent is written.
    pub(crate) async fn admission(&self, operation: &str) -> Result<Admission, Error> {
        let Some(credits) = self.budget() else { return Ok(Admission::Fits) };
        let operation = operation.to_owned();
        self.with(async move |connection| Ok(admission(connection, &operation, credits).await?))
            .await
    }
}

/// Refuses a submission that the budget does not allow.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    operation: &str,
    credits: f64,
) -> Result<(), Box<dyn error::Error + Send + Sync>> {
    match admission(connection, operation, credits).await? {
        Admission::Fits | Admission::Alone => Ok(()),
        Admission::Refused => Err(BudgetReached.into()),
    }
}

async fn admission(
    connection: &mut SqliteConnection,
    operation: &str,
    credits: f64,
) -> Result<Admission, sqlx::Error> {
    let spending: Vec<Spending> = sqlx::query_as(
        "SELECT operation, MAX(cost) AS price, TOTAL(cost) AS known,
                COUNT(*) - COUNT(cost) AS unpriced, SUM(state = 'open') AS open
         FROM submissions WHERE state <> 'withdrawn' GROUP BY operation",
    )
    .fetch_all(connection)
    .await?;
    let committed: f64 = spending
        .iter()
        .map(|of| of.known + of.unpriced as f64 * of.price.unwrap_or_default())
        .sum();
    let of = spending.iter().find(|of| of.operation == operation);
    Ok(match of.and_then(|of| of.price) {
        Some(price) if committed + price <= credits + TOLERANCE => Admission::Fits,
        None if committed < credits && of.is_none_or(|of| of.open == 0) => Admission::Alone,
        _ => Admission::Refused,
    })
}
