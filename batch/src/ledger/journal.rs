//! The ledger as the journal of a client.

use imagekiln::journal::{Intent, Journal, JournalError, JournalFuture, Record, Step};

use super::{
    Ledger,
    admission::{Admission, Facts, admission},
    database::Database,
    limits::{LimitReached, RunLimits, Subject},
    records::SubmissionRow,
    ticket::Ticket,
    workers::{LocalWorker, lease_lost},
};
use crate::{Error, ErrorKind, job::is_group};

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
            Some(local) if self.now_of_leases() < local.leased_until => Ok(()),
            _ => Err(JournalError::Refused(lease_lost().into())),
        }
    }

    /// This needs no lease: a step only adds what is known about a submission.
    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            // The log has reserved the space, and the database may be full.
            if let Step::Accepted(_) | Step::NotBilled = step {
                self.log_step(submission, step).await;
            }
            let (written, taken) = (submission.to_owned(), step.clone());
            self.transaction(async move |database| {
                match SubmissionRow::find_one(database, "s.intent_id = $1", &written).await? {
                    Some(mut submission) => submission.advance(database, &taken).await,
                    None if matches!(taken, Step::Accepted(_)) => Err(missing()),
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

    /// Returns the records without a job. A batch resumes the others.
    fn open_records(&self) -> JournalFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let open = "s.state IN ('open', 'accepted') AND s.job IS NULL ORDER BY s.id";
            let find =
                async |database: &mut Database| SubmissionRow::find(database, open, []).await;
            let open = self.transaction(find).await?;
            Ok(open.into_iter().map(|submission| submission.record).collect())
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
        let submission = self.exclusive(intend).await?.map_err(|limit| match &worker {
            Some(_) => JournalError::Refused(limit.into()),
            None => JournalError::Refused(Error::from(limit).into()),
        })?;
        let Some(worker) = worker else { return Ok(()) };
        if let Err(error) = self.mark(&worker.marking, submission).await {
            self.advance(intent.id(), &Step::NotBilled).await?;
            return Err(error.into());
        }
        Ok(())
    }
}

/// Returns the number of a submission, or the limit that does not allow it.
type Intended = Result<i64, LimitReached>;

/// Records the intent, unless a limit does not allow it. For a job, checks the limits and changes
/// its state in the same transaction.
async fn intend(
    database: &mut Database,
    intent: &Intent,
    limits: Option<RunLimits>,
) -> Result<Intended, Error> {
    let subject = Subject { operation: intent.operation(), group: intent.group() };
    let facts = Facts::read(database, subject, intent.id()).await?;
    if let Some(known) = facts.known {
        return Ok(Ok(known));
    }
    if let Admission::Refused(limit) = admission(database, subject, &facts, limits).await? {
        return Ok(Err(limit));
    }
    let Some(Ticket { job, worker, token }) = Ticket::of(intent) else {
        return Ok(Ok(SubmissionRow::insert(database, intent, None, None).await?.id));
    };
    let submission = SubmissionRow::insert(database, intent, Some(job), token).await?;
    let now = database.now().await?;
    let submit = "UPDATE jobs SET state = 'submitting', submission = $1, reason = NULL,
        changed_at = $2 WHERE id = $3 AND worker = $4 AND state = 'queued'";
    let values = [submission.id.into(), now.into(), job.into(), worker.into()];
    if database.execute(submit, values).await? == 1 {
        return Ok(Ok(submission.id));
    }
    let alive = "SELECT 1 FROM workers WHERE id = $1 AND ended_at IS NULL";
    if database.finds(alive, [worker.into()]).await? {
        let message = "the job is no longer queued; nothing was sent";
        return Err(Error::new(ErrorKind::State, message));
    }
    Err(lease_lost())
}

fn missing() -> Error {
    Error::new(ErrorKind::State, "the ledger does not contain the submission")
}
