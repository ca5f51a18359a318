//! The ledger as the journal of a client.

use imagekiln::{
    TaskRef,
    journal::{Intent, Journal, JournalError, JournalFuture, Record, Step},
};

use super::{
    Ledger,
    database::{Database, Row},
    exactly_one,
    limits::{Admission, LimitReached, Limits, admission},
    ticket::Ticket,
    workers::{LocalWorker, lease_lost},
};
use crate::{Error, ErrorKind, State};

impl Journal for Ledger {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let worker =
            Ticket::of(intent).map(|ticket| self.local(ticket.worker).ok_or_else(lease_lost));
        Box::pin(async move {
            let worker = worker.transpose()?;
            self.log_intent(intent).await?;
            let recorded = self.record_intent(intent, worker).await;
            if recorded.is_err() {
                self.log_step(intent.id(), &Step::NotBilled).await;
            }
            recorded
        })
    }

    /// Refuses an attempt of a worker whose lease has expired: another worker may already have
    /// marked its job as unknown.
    fn permit(&self, intent: &Intent) -> Result<(), JournalError> {
        let Some(ticket) = Ticket::of(intent) else { return Ok(()) };
        match self.local(ticket.worker) {
            Some(local) if !local.lease.has_expired() => Ok(()),
            _ => Err(JournalError::Refused(lease_lost().into())),
        }
    }

    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            // The log has reserved the space, and the database may be full.
            if let Step::Accepted(_) | Step::NotBilled = step {
                self.log_step(submission, step).await;
            }
            let (written, taken) = (submission.to_owned(), step.clone());
            let advance =
                async move |database: &mut Database| advance(database, &written, &taken).await;
            self.transaction(advance).await?;
            if let Step::Accepted(_) = step {
                self.log_step(submission, &Step::Settled).await;
            }
            Ok(())
        })
    }

    /// Returns the records without a job. A batch resumes the others.
    fn open_records(&self) -> JournalFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let rows = self
                .transaction(async |database| {
                    let open = "SELECT intent, record, task FROM submissions
                        WHERE state IN ('open', 'accepted') AND job IS NULL ORDER BY id";
                    let rows = database.rows(open, []).await?;
                    rows.iter().map(StoredRecord::of).collect::<Result<Vec<_>, Error>>()
                })
                .await?;
            let mut records = Vec::new();
            for row in rows {
                records.extend(row.read()?);
            }
            Ok(records)
        })
    }
}

impl Ledger {
    /// Records the intent in the database, and then at the output.
    async fn record_intent(
        &self,
        intent: &Intent,
        worker: Option<LocalWorker>,
    ) -> Result<(), JournalError> {
        let limits = worker.as_ref().map(|worker| worker.limits);
        let written = intent.clone();
        let intend = async move |database: &mut Database| intend(database, &written, limits).await;
        if let Some(limit) = self.transaction(intend).await? {
            return Err(JournalError::Refused(limit.into()));
        }
        let Some(worker) = worker else { return Ok(()) };
        if let Err(error) = self.mark(&worker.marking).await {
            self.advance(intent.id(), &Step::NotBilled).await?;
            return Err(error.into());
        }
        Ok(())
    }
}

/// The columns of a record.
pub(super) struct StoredRecord {
    intent: Option<String>,
    record: Option<String>,
    task: Option<String>,
}

impl StoredRecord {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        let (intent, record) = (row.get("intent")?, row.get("record")?);
        Ok(Self { intent, record, task: row.get("task")? })
    }

    /// Returns the record, if there is a submission.
    pub(super) fn read(&self) -> Result<Option<Record>, Error> {
        let unreadable = |error| {
            let message = "could not read the record of a submission";
            Error::new(ErrorKind::Ledger, message).with_source(error)
        };
        if let Some(record) = &self.record {
            return serde_json::from_str(record).map(Some).map_err(unreadable);
        }
        let Some(intent) = &self.intent else { return Ok(None) };
        let mut record = Record::new(serde_json::from_str(intent).map_err(unreadable)?);
        if let Some(task) = &self.task {
            record.advance(&Step::Accepted(serde_json::from_str(task).map_err(unreadable)?));
        }
        Ok(Some(record))
    }
}

/// Applies a step to the record of a submission.
async fn advance(database: &mut Database, submission: &str, step: &Step) -> Result<(), Error> {
    match step {
        Step::Accepted(task) => return accept(database, submission, task).await,
        Step::NotBilled => return withdraw(database, submission).await,
        _ => {}
    }
    let Some(record) = write_record(database, submission, step).await? else { return Ok(()) };
    if record.state().is_closed() {
        // Without a task, a person has found out that the submission was not billed.
        let close = "UPDATE submissions
            SET state = CASE WHEN task IS NULL THEN 'withdrawn' ELSE 'settled' END
            WHERE intent_id = $1 AND (state = 'accepted' OR state = 'open' AND job IS NULL)";
        database.execute(close, [submission.into()]).await?;
    }
    Ok(())
}

/// Applies a step to a record, and returns it if that changed it.
async fn write_record(
    database: &mut Database,
    submission: &str,
    step: &Step,
) -> Result<Option<Record>, Error> {
    let find = "SELECT intent, record, task FROM submissions WHERE intent_id = $1";
    let Some(row) = database.row(find, [submission.into()]).await? else { return Ok(None) };
    let Some(mut record) = StoredRecord::of(&row)?.read()? else { return Ok(None) };
    if !record.advance(step) {
        return Ok(None);
    }
    let text = serde_json::to_string(&record).map_err(|error| unwritable("the record", error))?;
    let write = "UPDATE submissions SET record = $1 WHERE intent_id = $2";
    database.execute(write, [(&text).into(), submission.into()]).await?;
    Ok(Some(record))
}

/// Records the intent, unless a limit does not allow it. For a job, checks the limits and changes
/// its state in the same transaction.
async fn intend(
    database: &mut Database,
    intent: &Intent,
    limits: Option<Limits>,
) -> Result<Option<LimitReached>, Error> {
    let ticket = Ticket::of(intent);
    if ticket.is_some() {
        database.lock().await?;
    }
    if submission(database, intent.id()).await?.is_some() {
        return Ok(None);
    }
    if let Some(limits) = limits
        && let Admission::Refused(limit) = admission(database, intent.operation(), limits).await?
    {
        return Ok(Some(limit));
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
    let Some(ticket) = ticket else { return Ok(None) };
    let submission: i64 = inserted.ok_or(sqlx::Error::RowNotFound)?.get("id")?;
    let changed = database
        .execute(
            "UPDATE jobs SET state = 'submitting', submission = $1, reason = NULL, changed_at = $2
             WHERE id = $3 AND worker = $4 AND state = 'queued'",
            [submission.into(), now.into(), ticket.job.into(), ticket.worker.into()],
        )
        .await?;
    match changed {
        1 => Ok(None),
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
    write_record(database, intent_id, &Step::Accepted(task.clone())).await?;
    // If its worker has given up the job, any worker can continue it.
    let job =
        "UPDATE jobs SET state = 'submitted', reason = NULL, changed_at = $1, left_after = NULL,
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

pub(super) async fn withdraw(database: &mut Database, intent_id: &str) -> Result<(), Error> {
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
