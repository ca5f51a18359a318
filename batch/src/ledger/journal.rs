//! The ledger as the journal of a client.

use std::error;

use imagekiln::{
    TaskRef,
    journal::{Entry, Intent, Journal, JournalFuture},
};
use sqlx::{Connection as _, SqliteConnection};

use super::{Ledger, budget, exactly_one};
use crate::{Error, ErrorKind, State};

/// Labels with this prefix belong to jobs; the rest is the id of the job.
const JOB_LABEL: &str = "imagekiln-batch/";

type BoxError = Box<dyn error::Error + Send + Sync>;

/// Returns the label for the submission of a job.
pub(crate) fn label_of(job: i64) -> String {
    format!("{JOB_LABEL}{job}")
}

fn job_of(intent: &Intent) -> Option<i64> {
    intent.label()?.strip_prefix(JOB_LABEL)?.parse().ok()
}

impl Journal for Ledger {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let (intent, budget) = (intent.clone(), self.budget());
        Box::pin(self.with(async move |connection| intend(connection, &intent, budget).await))
    }

    fn accept<'a>(&'a self, intent: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        let (intent, task) = (intent.clone(), task.clone());
        Box::pin(self.with(async move |connection| accept(connection, &intent, &task).await))
    }

    fn withdraw<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let intent = intent.clone();
        Box::pin(self.with(async move |connection| withdraw(connection, &intent).await))
    }

    fn settle<'a>(&'a self, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        let id = task.id().to_owned();
        Box::pin(self.with(async move |connection| {
            // The task may be absent, or settled before.
            sqlx::query(
                "UPDATE submissions SET state = 'settled' WHERE task_id = ? AND state = 'accepted'",
            )
            .bind(id)
            .execute(connection)
            .await?;
            Ok(())
        }))
    }

    /// Returns the entries without a job. A batch resumes the others.
    fn entries(&self) -> JournalFuture<'_, Vec<Entry>> {
        Box::pin(self.with(async |connection| {
            let rows: Vec<(String, Option<String>)> = sqlx::query_as(
                "SELECT intent, task FROM submissions
                 WHERE state IN ('open', 'accepted') AND job IS NULL ORDER BY id",
            )
            .fetch_all(connection)
            .await?;
            rows.into_iter().map(entry).collect()
        }))
    }
}

fn entry((intent, task): (String, Option<String>)) -> Result<Entry, BoxError> {
    let intent = serde_json::from_str(&intent)?;
    Ok(match task {
        Some(task) => Entry::Accepted(intent, serde_json::from_str(&task)?),
        None => Entry::Unknown(intent),
    })
}

/// Records the intent. For a job, checks the budget and changes its state in the same transaction.
async fn intend(
    connection: &mut SqliteConnection,
    intent: &Intent,
    budget: Option<f64>,
) -> Result<(), BoxError> {
    let mut transaction = connection.begin().await?;
    let job = job_of(intent);
    if job.is_some()
        && let Some(credits) = budget
    {
        budget::check(&mut transaction, intent.operation(), credits).await?;
    }
    let inserted = sqlx::query(
        "INSERT INTO submissions (intent_id, intent, operation, job, state)
         VALUES (?, ?, ?, ?, 'open')",
    )
    .bind(intent.id())
    .bind(serde_json::to_string(intent)?)
    .bind(intent.operation())
    .bind(job)
    .execute(&mut *transaction)
    .await?;
    if let Some(job) = job {
        let changed = sqlx::query(
            "UPDATE jobs SET state = 'submitting', submission = ?, reason = NULL
             WHERE id = ? AND state = 'queued'",
        )
        .bind(inserted.last_insert_rowid())
        .bind(job)
        .execute(&mut *transaction)
        .await?;
        exactly_one(changed.rows_affected(), format!("job number {job}"), State::Queued)?;
    }
    Ok(transaction.commit().await?)
}

async fn accept(
    connection: &mut SqliteConnection,
    intent: &Intent,
    task: &TaskRef,
) -> Result<(), BoxError> {
    let text = serde_json::to_string(task)?;
    let mut transaction = connection.begin().await?;
    let changed = sqlx::query(
        "UPDATE submissions SET state = 'accepted', task_id = ?, task = ?, cost = ?
         WHERE intent_id = ? AND state = 'open'",
    )
    .bind(task.id())
    .bind(text)
    .bind(task.cost())
    .bind(intent.id())
    .execute(&mut *transaction)
    .await?;
    must_be_open(changed.rows_affected())?;
    set_job_state(&mut transaction, intent, "state = 'submitted'").await?;
    Ok(transaction.commit().await?)
}

async fn withdraw(connection: &mut SqliteConnection, intent: &Intent) -> Result<(), BoxError> {
    let mut transaction = connection.begin().await?;
    let changed = sqlx::query(
        "UPDATE submissions SET state = 'withdrawn' WHERE intent_id = ? AND state = 'open'",
    )
    .bind(intent.id())
    .execute(&mut *transaction)
    .await?;
    must_be_open(changed.rows_affected())?;
    set_job_state(&mut transaction, intent, "state = 'queued', submission = NULL").await?;
    Ok(transaction.commit().await?)
}

/// Changes the job of an intent, if it has one, from `submitting`.
async fn set_job_state(
    connection: &mut SqliteConnection,
    intent: &Intent,
    change: &'static str,
) -> Result<(), Error> {
    let Some(job) = job_of(intent) else { return Ok(()) };
    let changed = sqlx::query(&format!(
        "UPDATE jobs SET {change} WHERE id = ? AND state = 'submitting'
         AND submission = (SELECT id FROM submissions WHERE intent_id = ?)"
    ))
    .bind(job)
    .bind(intent.id())
    .execute(connection)
    .await?;
    exactly_one(changed.rows_affected(), format!("job number {job}"), State::Submitting)
}

fn must_be_open(changed: u64) -> Result<(), Error> {
    match changed {
        1 => Ok(()),
        _ => Err(Error::new(
            ErrorKind::State,
            "the submission is not open in the ledger; nothing was changed",
        )),
    }
}
