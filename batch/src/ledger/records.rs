//! The submissions of a ledger: their records, and how these change jobs.

use imagekiln::{
    TaskRef, TaskStatus,
    journal::{Intent, Record, State, Step},
};

use super::database::{Database, Value};
use crate::{Error, ErrorKind, JobState};

/// A row of the submissions. The columns that are not here follow from the record.
pub(super) struct SubmissionRow {
    pub(super) id: i64,
    /// The job that it was for.
    job: Option<i64>,
    /// Until then, in milliseconds, the worker that lost its lease may still send the request.
    pub(super) hold_until: Option<i64>,
    pub(super) record: Record,
}

impl SubmissionRow {
    /// Returns the submissions `s`, with their jobs `j`, that meet a condition.
    pub(super) async fn find(
        database: &mut Database,
        condition: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Self>, Error> {
        let find = format!(
            "SELECT s.id, s.job, s.hold_until, s.record FROM submissions s
             LEFT JOIN jobs j ON j.id = s.job WHERE {condition}"
        );
        let rows = database.rows::<(i64, Option<i64>, Option<i64>, String)>(&find, values).await?;
        let read = |(id, job, hold_until, record): (_, _, _, String)| {
            Ok(Self { id, job, hold_until, record: read(&record)? })
        };
        rows.into_iter().map(read).collect()
    }

    /// Returns the submission that meets a condition. Until the end of the transaction, nobody else
    /// can change it.
    pub(super) async fn find_one(
        database: &mut Database,
        condition: &str,
        value: impl Into<Value>,
    ) -> Result<Option<Self>, Error> {
        let condition = format!("{condition}{}", database.for_update());
        Ok(Self::find(database, &condition, [value.into()]).await?.pop())
    }

    /// Writes a submission that is about to be sent.
    pub(super) async fn insert(
        database: &mut Database,
        intent: &Intent,
        job: Option<i64>,
        token: Option<String>,
    ) -> Result<Self, Error> {
        let record = Record::new(intent.clone());
        let insert = "INSERT INTO submissions
            (intent_id, operation, group_name, job, token, record, state, sent_at)
            VALUES ($1, $2, $3, $4, $5, $6, 'open', $7) RETURNING id";
        let values = [
            intent.id().into(),
            intent.operation().into(),
            intent.group().map(str::to_owned).into(),
            job.into(),
            token.into(),
            (&text(&record)?).into(),
            database.now().await?.into(),
        ];
        let id = database.value(insert, values).await?;
        Ok(Self { id, job, hold_until: None, record })
    }

    /// Applies a step to the record, and changes the job to what follows from it.
    ///
    /// Fails with kind [`State`](ErrorKind::State) before it writes anything if the step is a task
    /// that cannot be recorded: the record has another one, or the job was submitted again.
    pub(super) async fn advance(
        &mut self,
        database: &mut Database,
        step: &Step,
    ) -> Result<(), Error> {
        let before = self.record.state().clone();
        let has_changed = self.record.advance(step);
        let task = self.record.task();
        if let Step::Accepted(accepted) = step
            && task.is_none_or(|task| task.id() != accepted.id())
        {
            return Err(no_place());
        }
        if !has_changed {
            return Ok(());
        }
        let now = database.now().await?;
        if *self.record.state() != before {
            self.change_job(database, now).await?;
        }
        let write = "UPDATE submissions SET record = $1, state = $2, task_id = $3, cost = $4,
            accepted_at = COALESCE(accepted_at, $5) WHERE id = $6";
        let values = [
            (&text(&self.record)?).into(),
            self.state().into(),
            task.map(|task| task.id().to_owned()).into(),
            task.and_then(TaskRef::cost).into(),
            task.map(|_| now).into(),
            self.id.into(),
        ];
        database.execute(write, values).await?;
        Ok(())
    }

    /// Returns the value of the column `state`.
    fn state(&self) -> &'static str {
        match self.record.state() {
            State::Unknown => "open",
            State::Accepted | State::Ready => "accepted",
            State::NotBilled => "withdrawn",
            // A person resolves a job as paid, but dismisses a submission that was not billed.
            _ if self.record.task().is_none() && self.job.is_none() => "withdrawn",
            _ => "settled",
        }
    }

    /// Changes the job to match the state of the record. The worker of the job makes the other
    /// changes: it chooses the location of a ready picture, and describes a saved one.
    async fn change_job(&self, database: &mut Database, now: i64) -> Result<(), Error> {
        let Some(job) = self.job else { return Ok(()) };
        let (to, from, reason) = match self.record.state() {
            State::NotBilled => (
                JobState::Queued,
                "'submitting', 'unknown'",
                Some("an earlier submission was resolved as not billed".to_owned()),
            ),
            // A person may have resolved the job. If it is queued, it is not submitted again.
            State::Accepted => {
                let from = "'submitting', 'unknown', 'failed', 'queued', 'cancelled'";
                (JobState::Submitted, from, None)
            }
            State::Failed(status) => {
                let moderated = [TaskStatus::RequestModerated, TaskStatus::ContentModerated];
                let is_moderated = moderated.contains(status);
                let to = if is_moderated { JobState::Moderated } else { JobState::Failed };
                (to, "'submitted', 'ready'", Some(format!("the task ended with status `{status}`")))
            }
            State::Expired => (
                JobState::Expired,
                "'submitted', 'ready'",
                Some("the delivery URL was refused after the end of its validity".to_owned()),
            ),
            State::Settled if self.record.task().is_none() => (
                JobState::Failed,
                "'unknown'",
                Some("it was billed, but its response was lost".to_owned()),
            ),
            _ => return Ok(()),
        };
        // A worker keeps a job that it works on.
        let change = format!(
            "UPDATE jobs SET state = $1, changed_at = $3, left_after = NULL,
             reason = CASE WHEN $1 <> 'queued' OR state = 'unknown' THEN $2 END,
             submission = CASE WHEN $1 <> 'queued' THEN $4 END,
             worker = CASE WHEN state IN ('submitting', 'submitted', 'ready') THEN worker END
             WHERE id = $5 AND state IN ({from}) AND
                (submission = $4 OR state IN ('queued', 'cancelled'))"
        );
        let values = [to.as_str().into(), reason.into(), now.into(), self.id.into(), job.into()];
        match database.execute(&change, values).await? {
            1 => Ok(()),
            _ => Err(no_place()),
        }
    }
}

/// Reads the record of a submission.
pub(super) fn read(record: &str) -> Result<Record, Error> {
    serde_json::from_str(record).map_err(|error| {
        let message = "could not read the record of a submission";
        Error::new(ErrorKind::Ledger, message).with_source(error)
    })
}

fn text(record: &Record) -> Result<String, Error> {
    serde_json::to_string(record).map_err(|error| {
        let message = "could not write the record of a submission";
        Error::new(ErrorKind::Ledger, message).with_source(error)
    })
}

fn no_place() -> Error {
    let message = "the submission has another task, or its job does not wait for it; nothing was \
                   changed";
    Error::new(ErrorKind::State, message)
}
