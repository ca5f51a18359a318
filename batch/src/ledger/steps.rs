//! The steps of a job outside of its submission. Each is one statement that names the expected
//! state.

use std::path::Path;

use imagekiln::{Request, TaskRef};
use sqlx::{FromRow, Row as _, sqlite::SqliteRow};

use super::{Ledger, exactly_one, jobs::state_of};
use crate::{Error, ErrorKind, State};

/// A job that a run can continue.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) operation: String,
    pub(crate) state: State,
}

/// A job with everything that is needed to continue it.
pub(crate) struct OpenJob {
    pub(crate) request: Request,
    pub(crate) target: String,
    pub(crate) path: Option<String>,
    pub(crate) task: Option<TaskRef>,
}

impl Ledger {
    /// Returns the jobs to continue: first those that are paid.
    pub(crate) async fn pending(&self) -> Result<Vec<Pending>, Error> {
        const PENDING: &str = "SELECT id, name, operation, state FROM jobs
            WHERE state IN ('ready', 'submitted', 'queued')
            ORDER BY state = 'queued', state = 'submitted', id";
        self.with(async |connection| Ok(sqlx::query_as(PENDING).fetch_all(connection).await?)).await
    }

    pub(crate) async fn open_job(&self, id: i64) -> Result<OpenJob, Error> {
        const JOB: &str = "SELECT j.request, j.target, j.path, s.task
            FROM jobs j LEFT JOIN submissions s ON s.id = j.submission WHERE j.id = ?";
        let (request, target, path, task): (String, String, Option<String>, Option<String>) = self
            .with(async move |connection| {
                Ok::<_, Error>(sqlx::query_as(JOB).bind(id).fetch_one(connection).await?)
            })
            .await?;
        let unreadable = |what: &str| {
            Error::new(ErrorKind::Ledger, format!("could not read {what} of job number {id}"))
        };
        let task = task.map(|task| serde_json::from_str(&task)).transpose();
        Ok(OpenJob {
            request: Request::from_json(&request)
                .map_err(|error| unreadable("the request").with_source(error))?,
            target,
            path,
            task: task.map_err(|error| unreadable("the task").with_source(error))?,
        })
    }

    /// Changes the state of a job, or only its reason if both states are the same.
    pub(crate) async fn set_state(
        &self,
        job: &Pending,
        to: State,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let (job, reason) = (job.clone(), reason.map(str::to_owned));
        self.with(async move |connection| {
            let changed =
                sqlx::query("UPDATE jobs SET state = ?, reason = ? WHERE id = ? AND state = ?")
                    .bind(to.as_str())
                    .bind(reason)
                    .bind(job.id)
                    .bind(job.state.as_str())
                    .execute(connection)
                    .await?;
            exactly_one(changed.rows_affected(), format!("job `{}`", job.name), job.state)
        })
        .await
    }

    /// Announces that the picture will be saved at `path`, where no file exists.
    pub(crate) async fn set_ready(&self, job: &Pending, path: &Path) -> Result<(), Error> {
        let path = path.to_str().map(str::to_owned).ok_or_else(|| {
            Error::new(ErrorKind::File, "the output directory is not valid Unicode")
        })?;
        let job = job.clone();
        self.with(async move |connection| {
            let changed = sqlx::query(
                "UPDATE jobs SET state = 'ready', path = ?, reason = NULL
                 WHERE id = ? AND state = ?",
            )
            .bind(path)
            .bind(job.id)
            .bind(job.state.as_str())
            .execute(connection)
            .await?;
            exactly_one(changed.rows_affected(), format!("job `{}`", job.name), job.state)
        })
        .await
    }

    /// Marks the submissions of jobs that can no longer end as unknown.
    pub(crate) async fn abandon_submissions(&self, reason: &'static str) -> Result<(), Error> {
        self.with(async move |connection| {
            // There may be any number of them.
            sqlx::query("UPDATE jobs SET state = 'unknown', reason = ? WHERE state = 'submitting'")
                .bind(reason)
                .execute(connection)
                .await?;
            Ok(())
        })
        .await
    }
}

impl FromRow<'_, SqliteRow> for Pending {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            operation: row.try_get("operation")?,
            state: state_of(row)?,
        })
    }
}
