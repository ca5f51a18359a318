//! The acceptance log: what this machine knows about submissions, in case the database cannot be
//! written after the service accepted one, or loses its content.

use std::path::PathBuf;

use imagekiln::{
    Request,
    journal::{Directory, Intent, Journal as _, JournalError, Listed, Record, State, Step},
};

use super::{
    Ledger, database::Database, jobs::find_jobs, records::SubmissionRow, resolve::has_task,
};
use crate::{Error, ErrorKind, JobStatus, seeds::is_either};

/// The number of the newest records that show whether the database has lost some: more than the
/// write-ahead log of SQLite has. Older ones are in the ledger, and the log forgets them.
const NEWEST: u64 = 250;

/// Opens a directory.
pub(crate) type OpenLog = Box<dyn FnOnce(PathBuf) -> Result<Directory, imagekiln::Error> + Send>;

impl Ledger {
    /// Opens the log in a directory, and takes over what the database could not record. No
    /// submission of this process may be in flight.
    pub(super) async fn open_acceptances(
        &self,
        directory: PathBuf,
        open: OpenLog,
    ) -> Result<(), Error> {
        let opened =
            tokio::task::spawn_blocking(move || open(directory)).await.map_err(unusable)?;
        let log = opened.map_err(unusable)?;
        if let Err(error) = log.forget_closed(NEWEST).await {
            tracing::warn!(%error, "could not shorten the acceptance log of the ledger");
        }
        if self.0.acceptances.set(log).is_err() {
            let message = "the ledger has an acceptance log already";
            return Err(Error::new(ErrorKind::Ledger, message));
        }
        self.take_logged().await?;
        for record in self.log_records().await? {
            // The ledger knows that the response was lost. Without the submission in the ledger,
            // nothing was sent.
            if *record.state() == State::Unknown {
                self.log_step(record.intent().id(), &Step::Settled).await;
            }
        }
        Ok(())
    }

    /// Reserves the space for the acceptance of a submission.
    pub(super) async fn log_intent(&self, intent: &Intent) -> Result<(), JournalError> {
        match self.0.acceptances.get() {
            Some(log) => log.intend(intent).await,
            None => Ok(()),
        }
    }

    /// Writes a step to the log. If that fails, the database still has it.
    pub(super) async fn log_step(&self, submission: &str, step: &Step) {
        let Some(log) = self.0.acceptances.get() else { return };
        if let Err(error) = log.advance(submission, step).await {
            tracing::warn!(%error, submission, "could not write the acceptance log of the ledger");
        }
    }

    /// Takes over what the log knows and the database could not record. Returns the records whose
    /// tasks the database does not contain, because it has lost them.
    pub(super) async fn take_logged(&self) -> Result<Vec<Record>, Error> {
        let records = self.log_records().await?;
        let take = async move |database: &mut Database| take(database, &records).await;
        let (taken, lost) = self.exclusive(take).await?;
        for submission in taken {
            self.log_step(&submission, &Step::Settled).await;
        }
        Ok(lost)
    }

    /// Writes the lost submissions to the database again, so that a person decides about them once.
    /// If `continues`, the jobs with these names and requests continue, and are returned. Otherwise
    /// the tasks only count as paid.
    pub(super) async fn restore_lost(&self, continues: bool) -> Result<Vec<JobStatus>, Error> {
        let mut continued = Vec::new();
        // A job may have been submitted several times. Only its last submission counts.
        for record in self.take_logged().await?.into_iter().rev() {
            let restore =
                async move |database: &mut Database| restore(database, &record, continues).await;
            continued.extend(self.exclusive(restore).await?);
        }
        self.0.changes.send_replace(());
        Ok(continued)
    }

    /// Returns the open records of this process and of those that have ended, and the newest closed
    /// ones, oldest first.
    async fn log_records(&self) -> Result<Vec<Record>, Error> {
        let Some(log) = self.0.acceptances.get() else { return Ok(Vec::new()) };
        let (open, path) = (log.take_over().await.map_err(unusable)?, log.path().to_owned());
        let closed = tokio::task::spawn_blocking(move || {
            let newest = Directory::list(path)?.take(NEWEST as usize);
            let is_closed = |listed: &Listed| listed.record.state().is_closed();
            Ok::<_, imagekiln::Error>(newest.flatten().filter(is_closed).collect::<Vec<_>>())
        });
        let closed = closed.await.map_err(unusable)?.map_err(unusable)?;
        let mut records: Vec<Listed> = closed;
        for open in open {
            match open {
                Ok(listed) => records.push(listed),
                Err(unreadable) => tracing::error!(%unreadable, "it may name a paid task"),
            }
        }
        records.sort_unstable_by_key(|listed| listed.number);
        Ok(records.into_iter().map(|listed| listed.record).collect())
    }
}

/// Returns the ids of the submissions about which the database now agrees with the log, and the
/// records whose tasks the database does not contain.
async fn take(
    database: &mut Database,
    records: &[Record],
) -> Result<(Vec<String>, Vec<Record>), Error> {
    let (mut taken, mut lost) = (Vec::new(), Vec::new());
    for record in records {
        let submission = record.intent().id();
        let task = record.task();
        let known = SubmissionRow::find_one(database, "s.intent_id = $1", submission).await?;
        let step = match (record.state(), task) {
            (State::Accepted, Some(task)) => Some(Step::Accepted(task.clone())),
            (State::NotBilled, _) => Some(Step::NotBilled),
            _ => None,
        };
        let done = match (known, step, task) {
            (Some(mut known), Some(step), _) => known.decide(database, &step).await,
            (None, step, Some(task)) => {
                let operation = record.intent().operation();
                let is_adopted = has_task(database, task.id(), operation).await?;
                if !is_adopted {
                    lost.push(record.clone());
                }
                if step.is_none() || !is_adopted {
                    continue;
                }
                Ok(())
            }
            _ => continue,
        };
        match done {
            Ok(()) => taken.push(submission.to_owned()),
            // For example, a person decided that it was not billed, and its job was submitted
            // again.
            Err(error) if error.kind() == ErrorKind::State => {
                let task = task.map(imagekiln::TaskRef::id);
                let error = error.chain();
                tracing::warn!(
                    error,
                    submission,
                    task,
                    "the ledger has no place for a logged submission"
                );
            }
            Err(error) => return Err(error),
        }
    }
    Ok((taken, lost))
}

/// Writes a submission that the database has lost. Returns the status of its job if that continues.
async fn restore(
    database: &mut Database,
    record: &Record,
    continues: bool,
) -> Result<Option<JobStatus>, Error> {
    let intent = record.intent();
    let (name, digest) = (intent.label().unwrap_or_default(), intent.request_sha256());
    let find = "SELECT id, request, submission FROM jobs
        WHERE name = $1 AND state IN ('queued', 'unknown')";
    let job = database.row::<(i64, String, Option<i64>)>(find, [name.into()]).await?;
    let job = job.filter(|(_, request, _)| {
        let is_same = |request: &Request| {
            digest.is_some_and(|digest| request.digest().is_ok_and(|found| found == digest))
        };
        let request = Request::from_json(request).ok();
        continues && request.is_some_and(|request| is_either(name, &request, is_same))
    });
    let (job, earlier) = job.map_or((None, None), |(id, _, earlier)| (Some(id), earlier));
    // The job was only submitted again because a person resolved this submission as not billed.
    if let Some(mut earlier) = SubmissionRow::find_one(database, "s.id = $1", earlier).await? {
        earlier.advance(database, &Step::NotBilled).await?;
    }
    let known = SubmissionRow::find_one(database, "s.intent_id = $1", intent.id()).await?;
    if let (None, Some(task)) = (known, record.task()) {
        let mut submission = SubmissionRow::insert(database, intent, job, None).await?;
        submission.advance(database, &Step::Accepted(task.clone())).await?;
        if job.is_none() {
            submission.advance(database, &Step::Settled).await?;
        }
    }
    // The transaction may run twice.
    let restored = "s.intent_id = $1 AND j.state = 'submitted'";
    let restored = find_jobs(database, restored, [intent.id().into()]).await?.pop();
    Ok(restored.map(|job| job.status))
}

fn unusable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let message = "could not use the acceptance log of the ledger; check its permissions";
    Error::new(ErrorKind::Ledger, message).with_source(error)
}
