//! The ledger as the journal of a client.

use std::error;

use imagekiln::{
    TaskRef,
    journal::{Entry, Intent, Journal, JournalFuture},
};

use super::{
    Ledger,
    database::Database,
    exactly_one,
    limits::{Admission, Limits, admission},
    ticket::Ticket,
    workers::lease_lost,
};
use crate::{Error, ErrorKind, State};

type BoxError = Box<dyn error::Error + Send + Sync>;

impl Journal for Ledger {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let limits = Ticket::of(intent).map(|ticket| {
            self.local(ticket.worker).map(|local| local.limits).ok_or_else(lease_lost)
        });
        let intent = intent.clone();
        Box::pin(async move {
            let limits = limits.transpose()?;
            let intend =
                async move |database: &mut Database| intend(database, &intent, limits).await;
            Ok(self.transaction(intend).await?)
        })
    }

    /// Refuses an attempt of a worker whose lease has expired: other workers may already take its
    /// job for unknown.
    fn permit(&self, intent: &Intent) -> Result<(), BoxError> {
        let Some(ticket) = Ticket::of(intent) else { return Ok(()) };
        match self.local(ticket.worker) {
            Some(local) if !local.lease.has_expired() => Ok(()),
            _ => Err(lease_lost().into()),
        }
    }

    fn accept<'a>(&'a self, intent: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        let (intent_id, task) = (intent.id().to_owned(), task.clone());
        Box::pin(async move {
            let accept =
                async move |database: &mut Database| accept(database, &intent_id, &task).await;
            Ok(self.transaction(accept).await?)
        })
    }

    fn withdraw<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let intent_id = intent.id().to_owned();
        Box::pin(async move {
            let withdraw =
                async move |database: &mut Database| withdraw(database, &intent_id).await;
            Ok(self.transaction(withdraw).await?)
        })
    }

    fn settle<'a>(&'a self, task: &'a TaskRef) -> JournalFuture<'a, ()> {
        let id = task.id().to_owned();
        Box::pin(async move {
            let settle = async move |database: &mut Database| {
                // The task may be absent, or settled before.
                let settle = "UPDATE submissions SET state = 'settled'
                    WHERE task_id = $1 AND state = 'accepted'";
                database.execute(settle, [(&id).into()]).await?;
                Ok(())
            };
            Ok(self.transaction(settle).await?)
        })
    }

    /// Returns the entries without a job. A batch resumes the others.
    fn entries(&self) -> JournalFuture<'_, Vec<Entry>> {
        Box::pin(async move {
            let rows = self
                .transaction(async |database| {
                    let entries = "SELECT intent, task FROM submissions
                        WHERE state IN ('open', 'accepted') AND job IS NULL ORDER BY id";
                    let rows = database.rows(entries, []).await?;
                    let entry = |row: &super::database::Row| {
                        Ok((row.get::<String>("intent")?, row.get::<Option<String>>("task")?))
                    };
                    rows.iter().map(entry).collect::<Result<Vec<_>, Error>>()
                })
                .await?;
            rows.into_iter().map(entry).collect()
        })
    }
}

fn entry((intent, task): (String, Option<String>)) -> Result<Entry, BoxError> {
    let intent = serde_json::from_str(&intent)?;
    Ok(match task {
        Some(task) => Entry::Accepted(intent, serde_json::from_str(&task)?),
        None => Entry::Unknown(intent),
    })
}

/// Records the intent. For a job, checks the limits and changes its state in the same transaction.
async fn intend(
    database: &mut Database,
    intent: &Intent,
    limits: Option<Limits>,
) -> Result<(), Error> {
    let ticket = Ticket::of(intent);
    if ticket.is_some() {
        database.lock().await?;
    }
    if submission(database, intent.id()).await?.is_some() {
        return Ok(());
    }
    if let Some(limits) = limits
        && let Admission::Refused(limit) = admission(database, intent.operation(), limits).await?
    {
        return Err(limit.into_error());
    }
    let now = database.now().await?;
    let text = serde_json::to_string(intent).map_err(|error| unwritable("the intent", error))?;
    let inserted = database
        .row(
            "INSERT INTO submissions (intent_id, intent, operation, job, token, state, sent_at)
             VALUES ($1, $2, $3, $4, $5, 'open', $6) RETURNING id",
            [
                intent.id().into(),
                (&text).into(),
                intent.operation().into(),
                ticket.as_ref().map(|ticket| ticket.job).into(),
                ticket.as_ref().and_then(|ticket| ticket.token.clone()).into(),
                now.into(),
            ],
        )
        .await?;
    let Some(ticket) = ticket else { return Ok(()) };
    let submission: i64 = inserted.ok_or(sqlx::Error::RowNotFound)?.get("id")?;
    let changed = database
        .execute(
            "UPDATE jobs SET state = 'submitting', submission = $1, reason = NULL, changed_at = $2
             WHERE id = $3 AND worker = $4 AND state = 'queued'",
            [submission.into(), now.into(), ticket.job.into(), ticket.worker.into()],
        )
        .await?;
    match changed {
        1 => Ok(()),
        _ => Err(why_refused(database, &ticket).await?),
    }
}

/// Returns the error for a submission of a job that its worker cannot change.
async fn why_refused(database: &mut Database, ticket: &Ticket) -> Result<Error, Error> {
    let alive = "SELECT 1 AS found FROM workers WHERE id = $1 AND ended_at IS NULL";
    Ok(match database.row(alive, [ticket.worker.into()]).await? {
        Some(_) => Error::new(ErrorKind::State, "the job is no longer queued; nothing was sent"),
        None => lease_lost(),
    })
}

/// A row of the submissions.
struct Submission {
    id: i64,
    job: Option<i64>,
    state: String,
    task_id: Option<String>,
}

async fn submission(database: &mut Database, intent_id: &str) -> Result<Option<Submission>, Error> {
    let find = "SELECT id, job, state, task_id FROM submissions WHERE intent_id = $1";
    let Some(row) = database.row(find, [intent_id.into()]).await? else { return Ok(None) };
    Ok(Some(Submission {
        id: row.get("id")?,
        job: row.get("job")?,
        state: row.get("state")?,
        task_id: row.get("task_id")?,
    }))
}

/// Records the task of a submission.
///
/// This needs no lease: the task only adds what is known about a submission without a response. A
/// job that became unknown in the meantime, or that a person resolved as paid, continues.
pub(super) async fn accept(
    database: &mut Database,
    intent_id: &str,
    task: &TaskRef,
) -> Result<(), Error> {
    // A webhook may find the same task at the same time.
    database.lock().await?;
    let open = match submission(database, intent_id).await? {
        Some(known) if known.task_id.as_deref() == Some(task.id()) => {
            return complete(database, known.id, task).await;
        }
        Some(open) if ["open", "lost"].contains(&&*open.state) => open,
        _ => return Err(not_open()),
    };
    let now = database.now().await?;
    let text = serde_json::to_string(task).map_err(|error| unwritable("the task", error))?;
    let accepted = database
        .execute(
            "UPDATE submissions SET state = 'accepted', task_id = $1, task = $2, cost = $3,
             accepted_at = $4 WHERE id = $5 AND state IN ('open', 'lost')",
            [task.id().into(), (&text).into(), task.cost().into(), now.into(), open.id.into()],
        )
        .await?;
    must_be_open(accepted)?;
    // If its worker has given up the job, any worker can continue it.
    let job = "UPDATE jobs SET state = 'submitted', reason = NULL, changed_at = $1, left_at = NULL,
        worker = CASE WHEN state = 'submitting' THEN worker END
        WHERE id = $2 AND submission = $3 AND state IN ('submitting', 'unknown', 'failed')";
    change_job(database, job, now, &open).await
}

/// Adds what the response says about a task that a webhook found before the response arrived.
async fn complete(database: &mut Database, submission: i64, task: &TaskRef) -> Result<(), Error> {
    // Webhooks contain no cost.
    let Some(cost) = task.cost() else { return Ok(()) };
    let text = serde_json::to_string(task).map_err(|error| unwritable("the task", error))?;
    let complete = "UPDATE submissions SET task = $1, cost = $2 WHERE id = $3 AND cost IS NULL";
    database.execute(complete, [(&text).into(), Some(cost).into(), submission.into()]).await?;
    Ok(())
}

async fn withdraw(database: &mut Database, intent_id: &str) -> Result<(), Error> {
    database.lock().await?;
    let open = match submission(database, intent_id).await? {
        Some(known) if known.state == "withdrawn" => return Ok(()),
        Some(open) if open.state == "open" => open,
        _ => return Err(not_open()),
    };
    let now = database.now().await?;
    let withdraw = "UPDATE submissions SET state = 'withdrawn' WHERE id = $1 AND state = 'open'";
    must_be_open(database.execute(withdraw, [open.id.into()]).await?)?;
    let job = "UPDATE jobs SET state = 'queued', submission = NULL, changed_at = $1,
        worker = CASE WHEN state = 'submitting' THEN worker END
        WHERE id = $2 AND submission = $3 AND state IN ('submitting', 'unknown')";
    change_job(database, job, now, &open).await
}

/// Changes the job of a submission, if it has one.
async fn change_job(
    database: &mut Database,
    change: &str,
    now: i64,
    submission: &Submission,
) -> Result<(), Error> {
    let Some(job) = submission.job else { return Ok(()) };
    let changed = database.execute(change, [now.into(), job.into(), submission.id.into()]).await?;
    exactly_one(changed, format!("job number {job}"), State::Submitting)
}

fn must_be_open(changed: u64) -> Result<(), Error> {
    match changed {
        1 => Ok(()),
        _ => Err(not_open()),
    }
}

fn not_open() -> Error {
    Error::new(ErrorKind::State, "the submission is not open in the ledger; nothing was changed")
}

fn unwritable(what: &str, error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Ledger, format!("could not write {what}")).with_source(error)
}
