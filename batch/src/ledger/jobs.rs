//! Adds jobs, and reads what became of them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use imagekiln::Request;

use super::{
    Ledger,
    database::{Database, Row},
};
use crate::{Error, ErrorKind, Job, JobStatus, Report, ReportRow, State};

/// The columns that [`status_of`] reads.
pub(super) const STATUS: &str = "SELECT j.id, j.name, j.number, j.operation, j.target, j.state,
    j.reason, j.location, j.added_at, j.ready_at, j.changed_at, s.task_id, s.cost, s.accepted_at
    FROM jobs j LEFT JOIN submissions s ON s.id = j.submission";

impl Ledger {
    /// Adds jobs: all of them, or none if there is an error.
    ///
    /// A job that the ledger already contains is left as it is, so a program can add the same jobs
    /// each time it starts.
    ///
    /// # Errors
    ///
    /// - [`Job`](ErrorKind::Job): a name is empty, a target is not a path below the output
    ///   directory, another job has the same target, the ledger contains a different job with the
    ///   same name, or a request cannot be stored; see [`Request::to_json`].
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn add(&self, jobs: impl IntoIterator<Item = Job>) -> Result<(), Error> {
        let jobs = jobs.into_iter().map(StoredJob::new).collect::<Result<Vec<_>, _>>()?;
        if jobs.is_empty() {
            return Ok(());
        }
        self.transaction(async move |database| {
            database.lock().await?;
            let now = database.now().await?;
            let last = "SELECT COALESCE(MAX(number), 0) AS last FROM jobs";
            let last = database.row(last, []).await?.ok_or(sqlx::Error::RowNotFound)?;
            let mut number = last.get::<i64>("last")?;
            for job in &jobs {
                number += i64::from(job.insert(database, number + 1, now).await?);
            }
            Ok(())
        })
        .await?;
        self.0.changes.send_replace(());
        Ok(())
    }

    /// Returns the status of the job with this name.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn job(&self, name: &str) -> Result<Option<JobStatus>, Error> {
        let name = name.to_owned();
        self.transaction(async move |database| {
            let query = format!("{STATUS} WHERE j.name = $1");
            database.row(&query, [(&name).into()]).await?.as_ref().map(status_of).transpose()
        })
        .await
    }

    /// Returns the status of every job, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, Error> {
        self.transaction(async |database| {
            let rows = database.rows(&format!("{STATUS} ORDER BY j.number"), []).await?;
            rows.iter().map(status_of).collect()
        })
        .await
    }

    /// Returns the number and the cost of all jobs by state and operation.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn report(&self) -> Result<Report, Error> {
        const ROWS: &str = "SELECT j.state, j.operation, COUNT(*) AS jobs,
                COALESCE(SUM(s.cost), CAST(0 AS DOUBLE PRECISION)) AS credits,
                COUNT(j.submission) - COUNT(s.cost) AS without_cost
            FROM jobs j LEFT JOIN submissions s ON s.id = j.submission
            GROUP BY j.state, j.operation";
        let mut rows: Vec<ReportRow> = self
            .transaction(async |database| {
                database.rows(ROWS, []).await?.iter().map(report_row_of).collect()
            })
            .await?;
        rows.sort_by(|one, other| {
            (one.state, &one.operation).cmp(&(other.state, &other.operation))
        });
        Ok(Report::new(rows))
    }
}

/// A job in the form of its row.
struct StoredJob {
    name: String,
    target: String,
    operation: &'static str,
    request: String,
}

impl StoredJob {
    fn new(job: Job) -> Result<Self, Error> {
        let target = job.checked_target()?.to_owned();
        let request = job.request.to_json().map_err(|error| {
            let message = format!("could not store the request of job `{}`", job.name);
            Error::new(ErrorKind::Job, message).with_source(error)
        })?;
        Ok(Self { name: job.name, target, operation: job.request.operation().name, request })
    }

    /// Returns whether the job is new.
    async fn insert(&self, database: &mut Database, number: i64, now: i64) -> Result<bool, Error> {
        let inserted = database
            .execute(
                "INSERT INTO jobs
                 (name, number, target, operation, request, state, added_at, changed_at)
                 VALUES ($1, $2, $3, $4, $5, 'queued', $6, $6) ON CONFLICT DO NOTHING",
                [
                    (&self.name).into(),
                    number.into(),
                    (&self.target).into(),
                    self.operation.into(),
                    (&self.request).into(),
                    now.into(),
                ],
            )
            .await?;
        if inserted == 1 {
            return Ok(true);
        }
        let known = "SELECT target, request FROM jobs WHERE name = $1";
        let problem = match database.row(known, [(&self.name).into()]).await? {
            None => format!("has the target of another job: {}", self.target),
            Some(row) => {
                let same_target = row.get::<String>("target")? == self.target;
                if same_target && self.has(&row.get::<String>("request")?) {
                    return Ok(false);
                }
                "is in the ledger with another request or target; give it a new name".to_owned()
            }
        };
        Err(Error::new(ErrorKind::Job, format!("job `{}` {problem}", self.name)))
    }

    /// Whether this is the stored request, even if another version wrote it differently.
    fn has(&self, stored: &str) -> bool {
        let same =
            || Some(Request::from_json(stored).ok()? == Request::from_json(&self.request).ok()?);
        self.request == stored || same().unwrap_or_default()
    }
}

pub(super) fn status_of(row: &Row) -> Result<JobStatus, Error> {
    Ok(JobStatus {
        name: row.get("name")?,
        number: row.get::<i64>("number")?.unsigned_abs(),
        operation: row.get("operation")?,
        target: row.get("target")?,
        state: state_of(row)?,
        reason: row.get("reason")?,
        task_id: row.get("task_id")?,
        credits: row.get("cost")?,
        location: row.get("location")?,
        added_at: time(row.get("added_at")?),
        submitted_at: row.get::<Option<i64>>("accepted_at")?.map(time),
        ready_at: row.get::<Option<i64>>("ready_at")?.map(time),
        changed_at: time(row.get("changed_at")?),
    })
}

fn report_row_of(row: &Row) -> Result<ReportRow, Error> {
    let count = |column| Ok::<_, Error>(row.get::<i64>(column)?.unsigned_abs());
    Ok(ReportRow {
        state: state_of(row)?,
        operation: row.get("operation")?,
        jobs: count("jobs")?,
        credits: row.get("credits")?,
        without_cost: count("without_cost")?,
    })
}

pub(super) fn time(milliseconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(milliseconds.unsigned_abs())
}

/// The table accepts only known states.
fn state_of(row: &Row) -> Result<State, Error> {
    let name: String = row.get("state")?;
    State::named(&name).ok_or_else(|| {
        Error::new(ErrorKind::Ledger, format!("the ledger contains an unknown state, {name}"))
    })
}
