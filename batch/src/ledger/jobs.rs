//! Reads the status of jobs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::{
    Ledger,
    database::{Database, Value},
    manage::state_in,
};
#[cfg(doc)]
use crate::ErrorKind;
use crate::{Error, JobState, JobStatus, Report, ReportRow};

impl Ledger {
    /// Returns the status of the job with this name.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn job(&self, name: &str) -> Result<Option<JobStatus>, Error> {
        let name = name.to_owned();
        self.transaction(async move |database| {
            let found = find_jobs(database, "j.name = $1", [(&name).into()]).await?.pop();
            Ok(found.map(|job| job.status))
        })
        .await
    }

    /// Returns the status of every job, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, Error> {
        self.list(&JobState::ALL, 0, usize::MAX).await
    }

    /// Returns the status of the next `limit` jobs in these states, in the order in which they were
    /// added: those with a [number](JobStatus::number) above `after`.
    ///
    /// ```
    /// use imagekiln_batch::{JobState, Ledger};
    ///
    /// # async fn run(ledger: Ledger) -> Result<(), imagekiln_batch::Error> {
    /// let mut last = 0;
    /// loop {
    ///     let page = ledger.list(&[JobState::Failed, JobState::Unknown], last, 100).await?;
    ///     let Some(end) = page.last() else { break };
    ///     last = end.number;
    ///     for job in page {
    ///         println!("{} {}", job.name, job.state);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn list(
        &self,
        states: &[JobState],
        after: u64,
        limit: usize,
    ) -> Result<Vec<JobStatus>, Error> {
        if states.is_empty() {
            return Ok(Vec::new());
        }
        let listed = format!("j.{} AND j.number > $1 ORDER BY j.number LIMIT $2", state_in(states));
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.transaction(async move |database| {
            let found = find_jobs(database, &listed, [after.into(), limit.into()]).await?;
            Ok(found.into_iter().map(|job| job.status).collect())
        })
        .await
    }

    /// Returns the number and the cost of all jobs by state and operation.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn report(&self) -> Result<Report, Error> {
        const ROWS: &str = "SELECT j.state, j.operation, COUNT(*),
                COALESCE(SUM(s.cost), CAST(0 AS DOUBLE PRECISION)),
                COUNT(j.submission) - COUNT(s.cost)
            FROM jobs j LEFT JOIN submissions s ON s.id = j.submission
            GROUP BY j.state, j.operation";
        let mut rows: Vec<ReportRow> = self
            .transaction(async |database| {
                let rows = database.rows::<(String, String, i64, f64, i64)>(ROWS, []).await?;
                let rows = rows.into_iter().map(|(state, operation, jobs, credits, unpriced)| {
                    let (jobs, without_cost) = (jobs.unsigned_abs(), unpriced.unsigned_abs());
                    let state = state_named(state)?;
                    Ok(ReportRow { state, operation, jobs, credits, without_cost })
                });
                rows.collect()
            })
            .await?;
        rows.sort_by(|one, other| {
            (one.state, &one.operation).cmp(&(other.state, &other.operation))
        });
        Ok(Report::new(rows))
    }
}

/// A job, and its current submission.
pub(super) struct FoundJob {
    pub(super) id: i64,
    pub(super) status: JobStatus,
}

/// Returns the jobs `j` that meet a condition.
pub(super) async fn find_jobs(
    database: &mut Database,
    condition: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<FoundJob>, Error> {
    let find = format!(
        "SELECT j.id, j.name, j.number, j.operation, j.target, j.state, j.reason, j.location,
            j.added_at, j.ready_at, j.changed_at, s.task_id, s.cost, s.accepted_at
         FROM jobs j LEFT JOIN submissions s ON s.id = j.submission WHERE {condition}"
    );
    Ok(database.rows(&find, values).await?)
}

impl<'r, R: Row> FromRow<'r, R> for FoundJob
where
    &'static str: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    f64: Decode<'r, R::Database> + Type<R::Database>,
    String: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let status = JobStatus {
            name: row.try_get("name")?,
            number: row.try_get::<i64, _>("number")?.unsigned_abs(),
            operation: row.try_get("operation")?,
            target: row.try_get("target")?,
            state: state_named(row.try_get("state")?)?,
            reason: row.try_get("reason")?,
            task_id: row.try_get("task_id")?,
            credits: row.try_get("cost")?,
            location: row.try_get("location")?,
            added_at: time(row.try_get("added_at")?),
            submitted_at: row.try_get::<Option<i64>, _>("accepted_at")?.map(time),
            ready_at: row.try_get::<Option<i64>, _>("ready_at")?.map(time),
            changed_at: time(row.try_get("changed_at")?),
        };
        Ok(Self { id: row.try_get("id")?, status })
    }
}

fn time(milliseconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(milliseconds.unsigned_abs())
}

/// The table accepts only known states.
fn state_named(name: String) -> sqlx::Result<JobState> {
    JobState::named(&name).ok_or_else(|| {
        sqlx::Error::Decode(format!("the ledger contains an unknown state, {name}").into())
    })
}
