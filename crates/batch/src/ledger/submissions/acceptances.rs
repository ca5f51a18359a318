//! The acceptance log: a second record of the submissions on this machine, so that a paid task is
//! not lost if the database cannot be written after the service accepted the submission, or if the
//! database loses its content.

use std::{path::PathBuf, sync::atomic::Ordering};

use imagekiln::{
    TaskRef,
    journal::{Directory, Intent, Journal as _, JournalError, Listed, Record, State, Step},
};

#[cfg(doc)]
use crate::JobState;
use crate::{
    Error, ErrorKind, JobStatus,
    ledger::{
        Ledger,
        database::Database,
        jobs::status::find_jobs,
        records::{
            SubmissionRow, has_task,
            lost::{keep_name, take_up},
        },
        ticket::Ticket,
    },
};

/// How many of the newest records are compared with the database, to find out whether it has lost
/// submissions: more than the write-ahead log of SQLite contains.
const NEWEST: u64 = 250;

/// The number of the newest records that the log keeps, for a ledger that is restored from a
/// backup.
const KEPT: u64 = 10_000;

/// The number of submissions after which a run shortens the log. Otherwise, the next process that
/// opens the ledger would have to do it, which takes ten seconds after 100,000 submissions.
const SHORTENED_EVERY: u64 = 1_000;

/// The differences between the log and the database.
#[derive(Default)]
struct Differences {
    /// Steps that are missing in the log, of submissions that both contain.
    decided: Vec<(String, Step)>,
    /// The submissions that were sent, or may have been, and that the database has lost.
    lost: Vec<Record>,
    /// The submissions that were never sent, unless this process is just about to record them.
    unsent: Vec<String>,
}

/// A function that opens the acceptance log in a directory.
pub(crate) type OpenLog = Box<dyn FnOnce(PathBuf) -> Result<Directory, imagekiln::Error> + Send>;

impl Ledger {
    /// Opens the log in a directory, and copies what the database could not record before. No
    /// submission of this process may be in flight: the log would note it as not sent.
    pub(in crate::ledger) async fn open_acceptances(
        &self,
        directory: PathBuf,
        open: OpenLog,
    ) -> Result<(), Error> {
        let opened =
            tokio::task::spawn_blocking(move || open(directory)).await.map_err(unusable)?;
        let log = opened.map_err(unusable)?;
        shorten(&log).await;
        if self.0.acceptances.set(log).is_err() {
            let message = "the ledger has an acceptance log already";
            return Err(Error::new(ErrorKind::Ledger, message));
        }
        for submission in self.compare_log(NEWEST).await?.unsent {
            self.log_step(&submission, &Step::NotBilled).await;
        }
        Ok(())
    }

    /// Reserves the space for the acceptance of a submission. The client sends the submission only
    /// after [`log_sent`](Self::log_sent).
    pub(super) async fn log_intent(&self, intent: &Intent) -> Result<(), JournalError> {
        let Some(log) = self.0.acceptances.get() else { return Ok(()) };
        if self.0.logged.fetch_add(1, Ordering::Relaxed) % SHORTENED_EVERY == SHORTENED_EVERY - 1 {
            shorten(log).await;
        }
        log.intend(intent).await
    }

    /// Notes in the log that the database contains a submission, and that the client sends it now.
    /// If the database lacks a submission with this note, the database has lost it. Such a
    /// submission is not sent again, because it may have been billed.
    pub(super) async fn log_sent(&self, intent: &Intent) -> Result<(), JournalError> {
        match self.0.acceptances.get() {
            Some(log) => log.advance(intent.id(), &Step::Lost).await,
            None => Ok(()),
        }
    }

    /// Writes a step to the log. A failure is only logged, because the database records the step,
    /// too.
    pub(in crate::ledger) async fn log_step(&self, submission: &str, step: &Step) {
        let Some(log) = self.0.acceptances.get() else { return };
        if let Err(error) = log.advance(submission, step).await {
            tracing::warn!(%error, submission, "could not write the acceptance log of the ledger");
        }
    }

    /// Copies to the database what the log contains and the database could not record. Returns the
    /// submissions that the database has lost.
    pub(in crate::ledger) async fn take_logged(&self) -> Result<Vec<Record>, Error> {
        Ok(self.compare_log(NEWEST).await?.lost)
    }

    /// Writes the lost submissions to the database again, so that a person has to decide about them
    /// only once. Returns the jobs that change: those with the names and requests of the
    /// submissions. A job whose task is not known becomes [`Unknown`](JobState::Unknown). A job
    /// whose task is known continues with it if `continues`; otherwise, the task only counts as
    /// paid.
    pub(in crate::ledger) async fn restore_lost(
        &self,
        continues: bool,
    ) -> Result<Vec<JobStatus>, Error> {
        let mut changed: Vec<JobStatus> = Vec::new();
        // A job may have been submitted several times. Only its last submission changes the job.
        for record in self.compare_log(u64::MAX).await?.lost.into_iter().rev() {
            let is_last = changed.iter().all(|job| Some(&*job.name) != record.intent().label());
            let for_job = is_last && (continues || record.task().is_none());
            let restore = move |database: &mut Database| restore(database, &record, for_job);
            changed.extend(self.exclusive(restore).await?);
        }
        self.announce();
        Ok(changed)
    }

    async fn compare_log(&self, newest: u64) -> Result<Differences, Error> {
        let records = self.log_records(newest).await?;
        let compare = move |database: &mut Database| compare(database, &records);
        let mut found = self.exclusive(compare).await?;
        for (submission, step) in found.decided.drain(..) {
            self.log_step(&submission, &step).await;
        }
        Ok(found)
    }

    /// Returns the open records of this process and of processes that have ended, and the closed
    /// ones among the newest records, oldest first.
    async fn log_records(&self, newest: u64) -> Result<Vec<Record>, Error> {
        let Some(log) = self.0.acceptances.get() else { return Ok(Vec::new()) };
        let (open, path) = (log.take_over().await.map_err(unusable)?, log.path().to_owned());
        let closed = tokio::task::spawn_blocking(move || {
            let newest = Directory::list(path)?.take(usize::try_from(newest).unwrap_or(usize::MAX));
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

/// Removes old records from the log. The database contains them.
async fn shorten(log: &Directory) {
    if let Err(error) = log.forget_closed(KEPT).await {
        tracing::warn!(%error, "could not shorten the acceptance log of the ledger");
    }
}

/// Records in the database what only the log knows, and returns the differences that are left.
fn compare(database: &mut Database, records: &[Record]) -> Result<Differences, Error> {
    let mut found = Differences::default();
    for record in records {
        let submission = record.intent().id();
        let known = SubmissionRow::find_one(database, "s.intent_id = $1", submission)?;
        let steps = match known {
            Some(mut known) => take(database, &mut known, record)?,
            None => missing(database, record, &mut found)?,
        };
        if !record.state().is_closed() {
            let of_record = |step| (submission.to_owned(), step);
            found.decided.extend(steps.into_iter().map(of_record));
        }
    }
    Ok(found)
}

/// Records what the log knows about a submission of the database. Returns the steps for the log.
fn take(
    database: &mut Database,
    known: &mut SubmissionRow,
    record: &Record,
) -> Result<Vec<Step>, Error> {
    let step = match (record.state(), record.task(), known.record.task()) {
        (State::NotBilled, ..) => Step::NotBilled,
        (state, Some(_), Some(_)) if state.is_closed() => return Ok(Vec::new()),
        (_, Some(task), _) => Step::Accepted(task.clone()),
        (_, None, Some(task)) => return Ok(vec![Step::Accepted(task.clone()), Step::Settled]),
        (_, None, None) => {
            return Ok(match known.record.state() {
                State::NotBilled => vec![Step::NotBilled],
                state if state.is_closed() => vec![Step::Settled],
                // Nobody has decided yet. The record stays open in the log, in case the database
                // loses the submission before somebody does.
                _ => Vec::new(),
            });
        }
    };
    let Err(error) = known.decide(database, &step) else { return Ok(vec![Step::Settled]) };
    if error.kind() != ErrorKind::State {
        return Err(error);
    }
    // For example, a person decided that the submission was not billed, and its job was submitted
    // again. It may be paid for twice, so the warning names the task.
    let (submission, task) = (record.intent().id(), record.task().map(TaskRef::id));
    let error = error.chain();
    tracing::warn!(error, submission, task, "the ledger has no place for a logged submission");
    Ok(Vec::new())
}

/// Adds a submission that the database does not contain to the differences. Returns the steps for
/// the log.
fn missing(
    database: &mut Database,
    record: &Record,
    found: &mut Differences,
) -> Result<Vec<Step>, Error> {
    match (record.state(), record.task()) {
        (State::NotBilled, _) => {}
        (_, Some(task)) => {
            if has_task(database, task.id(), record.intent().operation())? {
                return Ok(vec![Step::Settled]);
            }
            found.lost.push(record.clone());
        }
        (_, None) if record.is_lost() => found.lost.push(record.clone()),
        (State::Unknown, None) => found.unsent.push(record.intent().id().to_owned()),
        (_, None) => {}
    }
    Ok(Vec::new())
}

/// Writes a submission that the database has lost. Returns the new status of its job, if the
/// submission changes one.
fn restore(
    database: &mut Database,
    record: &Record,
    for_job: bool,
) -> Result<Option<JobStatus>, Error> {
    let intent = record.intent();
    let (name, digest) = (intent.label().unwrap_or_default(), intent.request_sha256());
    let find = "SELECT id, request_sha256, submission FROM jobs
        WHERE name = $1 AND state IN ('queued', 'unknown')";
    let job = database.row::<(i64, String, Option<i64>)>(find, [name.into()])?;
    let job = job.filter(|(_, found, _)| for_job && digest == Some(found));
    // The transaction may run twice.
    if SubmissionRow::find_one(database, "s.intent_id = $1", intent.id())?.is_none() {
        let (job, earlier) = job.map_or((None, None), |(id, _, earlier)| (Some(id), earlier));
        // The lost submission came after this one. The job was submitted again only because a
        // person had resolved this one as not billed.
        if let Some(mut earlier) = SubmissionRow::find_one(database, "s.id = $1", earlier)? {
            earlier.advance(database, &Step::NotBilled)?;
        }
        let mut submission = SubmissionRow::insert(database, intent, job, None, None)?;
        take_up(database, &mut submission, record.task())?;
        if job.is_none() {
            submission.advance(database, &Step::Settled)?;
            if for_job && Ticket::of(intent).is_some() {
                keep_name(database, &submission, name)?;
            }
        }
    }
    let restored = find_jobs(database, "s.intent_id = $1", [intent.id().into()])?.pop();
    Ok(restored.map(|job| job.status))
}

fn unusable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let message = "could not use the acceptance log of the ledger; check its permissions";
    Error::new(ErrorKind::Ledger, message).with_source(error)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// Puts closed records of these numbers into a log.
    fn fill(log: &Path, numbers: &[u64]) {
        for number in numbers {
            let folder = log.join(format!("closed/{}", number / 1_000));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{number}.json")), "").unwrap();
        }
    }

    #[tokio::test]
    async fn the_log_is_shortened_when_it_is_opened_and_during_a_run() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("ledger.db.acceptances");
        let has =
            |number: u64| log.join(format!("closed/{}/{number}.json", number / 1_000)).exists();
        fill(&log, &[999, 2_500, 12_400]);
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        assert_eq!([999, 2_500, 12_400].map(has), [false, true, true]);

        fill(&log, &[13_500]);
        let intent = |id: &str| -> Intent {
            let intent = serde_json::json!({"id": id, "operation": "gen-2-pro", "at": 0});
            serde_json::from_value(intent).unwrap()
        };
        ledger.0.logged.store(SHORTENED_EVERY - 2, Ordering::Relaxed);
        ledger.log_intent(&intent("a")).await.unwrap();
        assert!(has(2_500), "it is not time yet");
        ledger.log_intent(&intent("b")).await.unwrap();
        assert_eq!([2_500, 12_400, 13_500].map(has), [false, true, true]);
    }
}
