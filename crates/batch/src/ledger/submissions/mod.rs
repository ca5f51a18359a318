//! The ledger as the journal of a client.

pub(super) mod acceptances;
mod adopt;
mod keys;
mod owners;

use imagekiln::{
    TaskRef,
    journal::{Intent, Journal, JournalError, JournalFuture, Key, Keyed, Record, Step, Unreadable},
};
use imagekiln_label::pixels_of_intent;

use crate::{
    Error, ErrorKind,
    job::is_group,
    ledger::{
        Ledger,
        database::Database,
        limits::{
            LimitReached, RunLimits, StoredLimits, Subject,
            admission::{Admission, admission},
            outage,
        },
        records::{SubmissionRow, has_task},
        ticket::Ticket,
        workers::{LocalWorker, claims::lease_lost},
    },
};

impl Journal for Ledger {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        let worker =
            Ticket::of(intent).map(|ticket| self.local(ticket.worker).ok_or_else(lease_lost));
        Box::pin(async move {
            if intent.group().is_some_and(|group| !is_group(group)) {
                let message = "the name of a group has 1 to 200 bytes; nothing was sent";
                return Err(Error::new(ErrorKind::State, message).into());
            }
            let worker = worker.transpose()?;
            self.log_intent(intent).await?;
            let job = Ticket::of(intent).map(|ticket| ticket.job);
            let recorded = self.in_order(job, self.record_intent(intent, worker)).await;
            // The submission is not sent, so the log need not keep it for a task.
            if recorded.is_err() {
                self.log_step(intent.id(), &Step::NotBilled).await;
                return recorded;
            }
            let logged = self.log_sent(intent).await;
            // Not sent: without this note, nobody could tell later that the database has lost a
            // billed submission.
            if logged.is_err() {
                self.advance(intent.id(), &Step::NotBilled).await?;
            }
            logged
        })
    }

    fn intend_once<'a>(
        &'a self,
        intent: &'a Intent,
        key: &'a Key,
    ) -> JournalFuture<'a, Option<Keyed>> {
        Box::pin(async move {
            // Somebody else may record the key in the meantime. The transaction that records the
            // intent checks it again.
            if let Some(known) = self.keyed(key).await? {
                return Ok(Some(known));
            }
            let Err(error) = self.intend(intent).await else { return Ok(None) };
            self.keyed(key).await?.map(Some).ok_or(error)
        })
    }

    fn of_key<'a>(&'a self, key: &'a Key) -> JournalFuture<'a, Option<Keyed>> {
        Box::pin(async move { Ok(self.keyed(key).await?) })
    }

    /// Refuses an attempt of a worker whose lease has expired: another worker may already have
    /// marked its job as unknown.
    fn permit(&self, intent: &Intent) -> Result<(), JournalError> {
        let Some(ticket) = Ticket::of(intent) else { return Ok(()) };
        match self.local(ticket.worker) {
            Some(local) if self.now_of_leases() < local.leased_until => Ok(()),
            _ => Err(JournalError::Refused(lease_lost().into())),
        }
    }

    fn handles_outages(&self) -> bool {
        true
    }

    fn ended<'a>(
        &'a self,
        intent: &'a Intent,
        failure: Option<&'a imagekiln::Error>,
    ) -> JournalFuture<'a, ()> {
        Box::pin(async move { Ok(self.note_end(intent, failure).await?) })
    }

    /// This needs no lease: a step only adds what is known about a submission.
    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            // The log comes first, because it has reserved the space, and the disk of the database
            // may be full.
            if let Step::Accepted(_) | Step::NotBilled = step {
                self.log_step(submission, step).await;
            }
            let (written, due) = (submission.to_owned(), step.clone());
            self.transaction(move |database| {
                match SubmissionRow::find_one(database, "s.intent_id = $1", &written)? {
                    Some(mut row) => row.advance(database, &due),
                    None if matches!(due, Step::Accepted(_)) => Err(missing()),
                    None => Ok(()),
                }
            })
            .await?;
            if let Step::Accepted(_) = step {
                self.log_step(submission, &Step::Settled).await;
            }
            Ok(())
        })
    }

    fn adopt<'a>(&'a self, submission: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, bool> {
        Box::pin(async move {
            let (id, accepted) = (submission.id().to_owned(), Step::Accepted(task.clone()));
            let (step, task_id) = (accepted.clone(), task.id().to_owned());
            // Exclusive: another process may give the task to another submission at the same time.
            let is_adopted = self
                .exclusive(move |database| {
                    let found = SubmissionRow::find_one(database, "s.intent_id = $1", &id)?;
                    let mut row = found.ok_or_else(missing)?;
                    let operation = row.record.intent().operation();
                    if row.record.task().is_none() && has_task(database, &task_id, operation)? {
                        return Ok(false);
                    }
                    row.advance(database, &step).map(|()| true)
                })
                .await?;
            if is_adopted {
                for step in [accepted, Step::Settled] {
                    self.log_step(submission.id(), &step).await;
                }
            }
            Ok(is_adopted)
        })
    }

    /// Returns the records of submissions without a job. A batch resumes the others.
    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        Box::pin(async move { Ok(self.unowned_records().await?.into_iter().map(Ok).collect()) })
    }
}

impl Ledger {
    /// Records the intent in the database, and then in the marker at the output.
    async fn record_intent(
        &self,
        intent: &Intent,
        worker: Option<LocalWorker>,
    ) -> Result<(), JournalError> {
        let limits = worker.as_ref().map(|worker| worker.limits);
        let (written, owner) = (intent.clone(), self.0.owner);
        let intend = move |database: &mut Database| intend(database, &written, limits, owner);
        let (id, is_probe) = self.exclusive(intend).await?.map_err(|limit| match &worker {
            Some(_) => JournalError::Refused(limit.into()),
            None => JournalError::Refused(Error::from(limit).into()),
        })?;
        if is_probe {
            self.probes(intent);
        }
        let Some(worker) = worker else { return Ok(()) };
        if let Err(error) = self.mark(&worker.marking, id).await {
            self.advance(intent.id(), &Step::NotBilled).await?;
            return Err(error.into());
        }
        Ok(())
    }
}

/// The number of a submission, and whether it is the probe of an outage, or the limit that does not
/// allow it.
type Intended = Result<(i64, bool), LimitReached>;

/// Records the intent, unless a limit does not allow the submission. Checking the limits, recording
/// the intent and changing the state of the job are one transaction, so that two workers cannot
/// spend the same credits.
fn intend(
    database: &mut Database,
    intent: &Intent,
    limits: Option<RunLimits>,
    owner: i64,
) -> Result<Intended, Error> {
    let subject = Subject { operation: intent.operation(), group: intent.group() };
    let ticket = Ticket::of(intent);
    // If this transaction runs again after its commit, the intent is already recorded.
    let known = SubmissionRow::find_one(database, "s.intent_id = $1", intent.id())?;
    if ticket.is_none() {
        owners::show_running(database, owner)?;
    }
    if let Some(row) = known {
        return Ok(Ok((row.id, outage::is_probe(database, intent)?)));
    }
    let (stored, pixels) =
        (StoredLimits::of_submission(database, subject)?, pixels_of_intent(intent));
    if let Admission::Refused(limit) = admission(database, subject, pixels, &stored, limits)? {
        return Ok(Err(limit));
    }
    let is_probe = match outage::enter(database, intent)? {
        Ok(is_probe) => is_probe,
        Err(limit) => return Ok(Err(limit)),
    };
    stored.count_for_rates(database)?;
    keys::check(database, intent, ticket.as_ref())?;
    let Some(ticket) = ticket else {
        let submission = SubmissionRow::insert(database, intent, None, None, Some(owner))?;
        return Ok(Ok((submission.id, is_probe)));
    };
    // A person may have removed or cancelled the job since the worker claimed it.
    let is_ready = format!(
        "SELECT 1 FROM jobs WHERE id = $1 AND worker = $2 AND state = 'queued'{}",
        database.for_update("jobs")
    );
    if !database.finds(&is_ready, [ticket.job.into(), ticket.worker.into()])? {
        return Err(why_not(database, ticket.worker)?);
    }
    let submission =
        SubmissionRow::insert(database, intent, Some(ticket.job), Some(&ticket), None)?;
    let submit = "UPDATE jobs SET state = 'submitting', submission = $1, reason = NULL,
        changed_at = $2 WHERE id = $3";
    let values = [submission.id.into(), database.now().into(), ticket.job.into()];
    database.execute(submit, values)?;
    Ok(Ok((submission.id, is_probe)))
}

/// Returns the error for a job that its worker can no longer submit.
fn why_not(database: &mut Database, worker: i64) -> Result<Error, Error> {
    let alive = "SELECT 1 FROM workers WHERE id = $1 AND ended_at IS NULL";
    if database.finds(alive, [worker.into()])? {
        // A person or a webhook has changed the job.
        return Ok(Error::new(ErrorKind::State, "the job is no longer queued; nothing was sent"));
    }
    Ok(lease_lost())
}

fn missing() -> Error {
    Error::new(ErrorKind::State, "the ledger does not contain the submission")
}
