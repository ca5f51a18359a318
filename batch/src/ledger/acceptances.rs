//! The acceptance log: what this machine knows about submissions, in case the database cannot be
//! written after the service accepted one, or loses what it contained.

use std::path::PathBuf;

use imagekiln::journal::{Directory, Intent, Journal as _, JournalError, Record, State, Step};

use super::{
    Ledger,
    database::{Database, Value},
    journal::withdraw,
    ticket::Ticket,
};
use crate::{Error, ErrorKind, JobStatus, digest::sha256};

/// The number of closed records that are kept, to notice that the database has lost them: more than
/// the write-ahead log of SQLite has.
const CLOSED: usize = 250;

/// Opens a directory that keeps a number of closed records.
pub(crate) type OpenLog =
    Box<dyn FnOnce(PathBuf, usize) -> Result<Directory, imagekiln::Error> + Send>;

/// What the database knows about a record of the log.
enum Known {
    Nothing,
    /// The state of the submission.
    Submission(String),
    /// Another submission has the task, because its picture was adopted.
    Task,
}

impl Ledger {
    /// Opens the log in a directory, and takes over what the database could not record. No
    /// submission of this process may be in flight.
    pub(super) async fn open_acceptances(
        &self,
        directory: PathBuf,
        open: OpenLog,
    ) -> Result<(), Error> {
        let open = move || open(directory, CLOSED);
        let opened = tokio::task::spawn_blocking(open).await.map_err(unusable)?;
        if self.0.acceptances.set(opened.map_err(unusable)?).is_err() {
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

    /// Takes over what the log knows and the database could not record. Returns the records with
    /// tasks of which the database knows nothing: it has lost them.
    pub(super) async fn take_logged(&self) -> Result<Vec<Record>, Error> {
        let mut lost = Vec::new();
        for (record, known) in self.logged().await? {
            let taken = match (&known, record.state()) {
                (Known::Nothing, _) if record.task().is_some() => {
                    lost.push(record);
                    continue;
                }
                (Known::Submission(_), State::Accepted) => self.take_task(&record).await,
                (Known::Submission(state), State::NotBilled) if state == "open" => {
                    self.take_withdrawal(&record).await
                }
                (Known::Task, State::Accepted) => Ok(()),
                _ => continue,
            };
            let submission = record.intent().id();
            match taken {
                Ok(()) => self.log_step(submission, &Step::Settled).await,
                // For example, a person decided that it was not billed, and its job was submitted
                // again.
                Err(error) if error.kind() == ErrorKind::State => {
                    let task = record.task().map(imagekiln::TaskRef::id);
                    tracing::warn!(%error, submission, task, "a logged submission has no place");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(lost)
    }

    async fn take_task(&self, record: &Record) -> Result<(), Error> {
        match record.task() {
            Some(task) => self.record_task(record.intent().id(), task).await,
            None => Ok(()),
        }
    }

    async fn take_withdrawal(&self, record: &Record) -> Result<(), Error> {
        let submission = record.intent().id().to_owned();
        let work = async move |database: &mut Database| withdraw(database, &submission).await;
        self.transaction(work).await
    }

    /// Makes the database know what it has lost, so that a person decides about it once. If
    /// `continues`, the jobs with these names and requests continue, and are returned; otherwise
    /// the tasks only count as paid.
    pub(super) async fn restore_lost(&self, continues: bool) -> Result<Vec<JobStatus>, Error> {
        let mut continued = Vec::new();
        for record in self.take_logged().await? {
            let name = if continues { self.job_of(&record).await? } else { None };
            let restored = Restored::new(&record, name.clone())?;
            let work = async move |database: &mut Database| restored.write(database).await;
            if self.transaction(work).await?
                && let Some(name) = name
            {
                continued.push(self.existing(&name).await?);
            }
        }
        self.0.changes.send_replace(());
        Ok(continued)
    }

    /// Returns the name of the job that a submission was for, if the ledger has it with the same
    /// request.
    async fn job_of(&self, record: &Record) -> Result<Option<String>, Error> {
        let intent = record.intent();
        let digest = Ticket::of(intent).and_then(|ticket| ticket.request);
        let (Some(name), Some(digest)) = (intent.label(), digest) else { return Ok(None) };
        let Some(request) = self.request(name).await? else { return Ok(None) };
        let is_same = request.to_json().is_ok_and(|json| sha256(json.as_bytes()) == digest);
        Ok(is_same.then(|| name.to_owned()))
    }

    /// Returns the records of the log with what the database knows about them.
    async fn logged(&self) -> Result<Vec<(Record, Known)>, Error> {
        let records = self.log_records().await?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        self.transaction(async move |database| {
            let mut logged = Vec::new();
            for record in &records {
                logged.push((record.clone(), known(database, record).await?));
            }
            Ok(logged)
        })
        .await
    }

    /// Returns the records of this process and of those that have ended.
    async fn log_records(&self) -> Result<Vec<Record>, Error> {
        let Some(log) = self.0.acceptances.get() else { return Ok(Vec::new()) };
        let listed = log.records().await.map_err(unusable)?;
        Ok(listed.into_iter().rev().map(|listed| listed.record).collect())
    }
}

async fn known(database: &mut Database, record: &Record) -> Result<Known, Error> {
    let find = "SELECT state FROM submissions WHERE intent_id = $1";
    if let Some(row) = database.row(find, [record.intent().id().into()]).await? {
        return Ok(Known::Submission(row.get("state")?));
    }
    let Some(task) = record.task() else { return Ok(Known::Nothing) };
    let find = "SELECT 1 AS found FROM submissions WHERE task_id = $1";
    Ok(match database.row(find, [task.id().into()]).await? {
        Some(_) => Known::Task,
        None => Known::Nothing,
    })
}

/// A submission that the database has lost.
struct Restored {
    intent_id: String,
    operation: String,
    intent: String,
    task_id: String,
    task: String,
    cost: Option<f64>,
    /// The name of the job that continues.
    job: Option<String>,
}

impl Restored {
    fn new(record: &Record, job: Option<String>) -> Result<Self, Error> {
        let failed = |error| {
            Error::new(ErrorKind::Ledger, "could not write a lost submission").with_source(error)
        };
        let (intent, task) = (record.intent(), record.task());
        Ok(Self {
            intent_id: intent.id().to_owned(),
            operation: intent.operation().to_owned(),
            intent: serde_json::to_string(intent).map_err(failed)?,
            task_id: task.map(imagekiln::TaskRef::id).unwrap_or_default().to_owned(),
            task: serde_json::to_string(&task).map_err(failed)?,
            cost: task.and_then(imagekiln::TaskRef::cost),
            job,
        })
    }

    /// Returns whether the job continues.
    async fn write(&self, database: &mut Database) -> Result<bool, Error> {
        database.lock().await?;
        let now = database.now().await?;
        let find = "SELECT id FROM jobs WHERE name = $1 AND state = 'queued'";
        let job = match &self.job {
            Some(name) => database.row(find, [name.into()]).await?,
            None => None,
        };
        let job = job.map(|row| row.get::<i64>("id")).transpose()?;
        let state = if job.is_some() { "accepted" } else { "settled" };
        let insert = format!(
            "INSERT INTO submissions (intent_id, intent, operation, job, state, task_id, task,
                 cost, sent_at, accepted_at)
             VALUES ($1, $2, $3, $4, '{state}', $5, $6, $7, $8, $8)
             ON CONFLICT (intent_id) DO NOTHING"
        );
        let values: [Value; 8] = [
            (&self.intent_id).into(),
            (&self.intent).into(),
            (&self.operation).into(),
            job.into(),
            (&self.task_id).into(),
            (&self.task).into(),
            self.cost.into(),
            now.into(),
        ];
        database.execute(&insert, values).await?;
        let submit = "UPDATE jobs SET state = 'submitted', reason = NULL, worker = NULL,
            left_after = NULL, changed_at = $1,
            submission = (SELECT id FROM submissions WHERE intent_id = $2)
            WHERE id = $3 AND state = 'queued'";
        let values = [now.into(), (&self.intent_id).into(), job.into()];
        Ok(database.execute(submit, values).await? == 1)
    }
}

fn unusable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let message = "could not use the acceptance log of the ledger; check its permissions";
    Error::new(ErrorKind::Ledger, message).with_source(error)
}
