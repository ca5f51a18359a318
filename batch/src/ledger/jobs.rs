//! Adds jobs, and reads what became of them.

use std::path::PathBuf;

use imagekiln::Request;
use sqlx::{Connection as _, FromRow, Row as _, SqliteConnection, sqlite::SqliteRow};

use super::Ledger;
use crate::{Error, ErrorKind, Job, JobStatus, Report, ReportRow, State};

const STATUS: &str = "SELECT j.name, j.operation, j.target, j.state, j.reason, j.path,
    s.task_id, s.cost FROM jobs j LEFT JOIN submissions s ON s.id = j.submission";

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
        self.with(async move |connection| {
            let mut transaction = connection.begin().await?;
            for job in &jobs {
                job.insert(&mut transaction).await?;
            }
            Ok(transaction.commit().await?)
        })
        .await
    }

    /// Returns the status of the job with this name.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn job(&self, name: &str) -> Result<Option<JobStatus>, Error> {
        let name = name.to_owned();
        self.with(async move |connection| {
            let query = format!("{STATUS} WHERE j.name = ?");
            Ok(sqlx::query_as(&query).bind(name).fetch_optional(connection).await?)
        })
        .await
    }

    /// Returns the status of every job, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, Error> {
        self.with(async |connection| {
            let query = format!("{STATUS} ORDER BY j.id");
            Ok(sqlx::query_as(&query).fetch_all(connection).await?)
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
                TOTAL(s.cost) AS credits, COUNT(j.submission) - COUNT(s.cost) AS without_cost
            FROM jobs j LEFT JOIN submissions s ON s.id = j.submission
            GROUP BY j.state, j.operation";
        let mut rows: Vec<ReportRow> = self
            .with(async |connection| {
                Ok::<_, Error>(sqlx::query_as(ROWS).fetch_all(connection).await?)
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

    async fn insert(&self, connection: &mut SqliteConnection) -> Result<(), Error> {
        let inserted = sqlx::query(
            "INSERT INTO jobs (name, target, operation, request, state)
             VALUES (?, ?, ?, ?, 'queued') ON CONFLICT DO NOTHING",
        )
        .bind(&self.name)
        .bind(&self.target)
        .bind(self.operation)
        .bind(&self.request)
        .execute(&mut *connection)
        .await?;
        if inserted.rows_affected() == 1 {
            return Ok(());
        }
        let known: Option<(String, String)> =
            sqlx::query_as("SELECT target, request FROM jobs WHERE name = ?")
                .bind(&self.name)
                .fetch_optional(connection)
                .await?;
        let problem = match known {
            None => format!("has the target of another job: {}", self.target),
            Some((target, request)) if target == self.target && self.has(&request) => {
                return Ok(());
            }
            Some(_) => {
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

impl FromRow<'_, SqliteRow> for JobStatus {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let path =
            |name| Ok::<_, sqlx::Error>(row.try_get::<Option<String>, _>(name)?.map(PathBuf::from));
        Ok(Self {
            name: row.try_get("name")?,
            operation: row.try_get("operation")?,
            target: path("target")?.unwrap_or_default(),
            state: state_of(row)?,
            reason: row.try_get("reason")?,
            task_id: row.try_get("task_id")?,
            credits: row.try_get("cost")?,
            path: path("path")?,
        })
    }
}

impl FromRow<'_, SqliteRow> for ReportRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let count = |name| Ok::<_, sqlx::Error>(row.try_get::<i64, _>(name)?.unsigned_abs());
        Ok(Self {
            state: state_of(row)?,
            operation: row.try_get("operation")?,
            jobs: count("jobs")?,
            credits: row.try_get("credits")?,
            without_cost: count("without_cost")?,
        })
    }
}

/// The table accepts only known states.
pub(super) fn state_of(row: &SqliteRow) -> sqlx::Result<State> {
    let name: &str = row.try_get("state")?;
    State::named(name).ok_or_else(|| sqlx::Error::Decode(format!("unknown state {name}").into()))
}
