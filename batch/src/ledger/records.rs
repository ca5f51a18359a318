//! The submissions of a ledger: their records, and how these change jobs.

use imagekiln::{
    TaskRef, TaskStatus,
    journal::{Intent, Record, State, Step},
};

use serde_json::Value;

#[cfg(feature = "postgres")]
use super::active::ACTIVE;
use super::{
    database::{self, Database},
    ticket::Ticket,
};
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

const INSERT: &str = "INSERT INTO submissions
    (intent_id, operation, group_name, job, token, worker, record, state, sent_at)";

impl SubmissionRow {
    /// Returns the submissions `s`, with their jobs `j`, that meet a condition.
    pub(super) async fn find(
        database: &mut Database,
        condition: &str,
        values: impl IntoIterator<Item = database::Value>,
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
        value: impl Into<database::Value>,
    ) -> Result<Option<Self>, Error> {
        let condition = format!("{condition}{}", database.for_update());
        Ok(Self::find(database, &condition, [value.into()]).await?.pop())
    }

    /// Writes a submission of a job that is about to be sent, and changes the job, if the ledger
    /// has no limits for it and fewer than `max_active` active jobs. Returns its number, or `None`
    /// if nothing was written. Only for PostgreSQL, where all workers wait for this, and each
    /// statement is a round trip.
    #[cfg(feature = "postgres")]
    pub(super) async fn insert_at_once(
        database: &mut Database,
        intent: &Intent,
        ticket: &Ticket,
        max_active: usize,
    ) -> Result<Option<i64>, Error> {
        if let Database::Sqlite(..) = database {
            return Ok(None);
        }
        let submit = format!(
            "WITH inserted AS ({INSERT}
                SELECT $1, $2, $3, $4, $5, $6, $7, 'open', $8
                WHERE {ACTIVE} < $9
                AND EXISTS (SELECT 1 FROM jobs WHERE id = $4 AND worker = $6 AND state = 'queued')
                AND NOT EXISTS (SELECT 1 FROM submissions WHERE intent_id = $1)
                AND NOT EXISTS (SELECT 1 FROM limits WHERE scope = 'ledger'
                    OR scope = 'operation' AND name = $2
                    OR scope = 'group' AND $3 IS NOT NULL AND name IN ($3, ''))
                RETURNING id),
             changed AS (UPDATE jobs
                SET state = 'submitting', submission = inserted.id, reason = NULL, changed_at = $8
                FROM inserted WHERE jobs.id = $4 AND jobs.worker = $6 AND jobs.state = 'queued'
                RETURNING inserted.id)
             SELECT (SELECT id FROM inserted), (SELECT id FROM changed)"
        );
        let record = Record::new(intent.clone());
        let values = Self::values(&record, Some(ticket.job), Some(ticket), database.now())?;
        let most = i64::try_from(max_active).unwrap_or(i64::MAX);
        let values = values.into_iter().chain([most.into()]);
        match database.row::<(Option<i64>, Option<i64>)>(&submit, values).await? {
            Some((inserted, changed)) if inserted == changed => Ok(inserted),
            // It was changed during the statement. The transaction is rolled back.
            _ => Err(not_queued()),
        }
    }

    /// Writes a submission that is about to be sent.
    pub(super) async fn insert(
        database: &mut Database,
        intent: &Intent,
        job: Option<i64>,
        ticket: Option<&Ticket>,
    ) -> Result<Self, Error> {
        let record = Record::new(intent.clone());
        let values = Self::values(&record, job, ticket, database.now())?;
        let insert =
            format!("{INSERT} VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', $8) RETURNING id");
        let id = database.value(&insert, values).await?;
        Ok(Self { id, job, hold_until: None, record })
    }

    /// Returns the values of [`INSERT`].
    fn values(
        record: &Record,
        job: Option<i64>,
        ticket: Option<&Ticket>,
        now: i64,
    ) -> Result<[database::Value; 8], Error> {
        let intent = record.intent();
        Ok([
            intent.id().into(),
            intent.operation().into(),
            intent.group().map(str::to_owned).into(),
            job.into(),
            ticket.and_then(|ticket| ticket.token.clone()).into(),
            ticket.map(|ticket| ticket.worker).into(),
            (&text(record, job)?).into(),
            now.into(),
        ])
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
        let now = database.now();
        if *self.record.state() != before {
            self.change_job(database, now).await?;
        }
        let write = "UPDATE submissions SET record = $1, state = $2, task_id = $3, cost = $4,
            accepted_at = COALESCE(accepted_at, $5) WHERE id = $6";
        let values = [
            (&text(&self.record, self.job)?).into(),
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

/// Returns a record as the ledger stores it: without what its job contains, and without what only
/// an open one needs. Millions of closed ones stay. Earlier versions can read it.
fn text(record: &Record, job: Option<i64>) -> Result<String, Error> {
    let mut stored = serde_json::to_value(record).map_err(|error| {
        let message = "could not write the record of a submission";
        Error::new(ErrorKind::Ledger, message).with_source(error)
    })?;
    if let Some(Value::Object(task)) = stored.get_mut("task") {
        // The id of the intent.
        task.remove("submission");
    }
    if job.is_some() {
        if let Some(Value::Object(intent)) = stored.get_mut("intent") {
            intent.retain(|name, _| name != "context" && name != "request_sha256");
        }
        if let Some(path) = stored.pointer_mut("/state/saved/path") {
            *path = "".into();
            if let Some(Value::Object(task)) = stored.get_mut("task") {
                task.retain(|name, _| name == "id" || name == "cost");
                // Earlier versions need one.
                task.insert("polling_url".to_owned(), "".into());
            }
        }
    }
    Ok(stored.to_string())
}

/// Returns the error for a job that a person or a webhook changed before its submission.
pub(super) fn not_queued() -> Error {
    Error::new(ErrorKind::State, "the job is no longer queued; nothing was sent")
}

fn no_place() -> Error {
    let message = "the submission has another task, or its job does not wait for it; nothing was \
                   changed";
    Error::new(ErrorKind::State, message)
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::SystemTime};

    use serde_json::json;

    use super::*;

    /// Returns the record of a submission after these steps.
    fn record(steps: &[Step]) -> Record {
        let id = "f55b1875b617433cb4b274d24bee779b";
        let intent = json!({
            "id": id, "operation": "gen-2-pro", "at": 1_795_673_076, "label": "fox-1",
            "group": "anna", "context": {"imagekiln_batch": {"job": 20, "worker": 1}},
            "request_sha256": "54d38eb5090cbc31dc18966feda4fa72cf4d54f45b32fc5fdb429a1cf8937542",
        });
        let mut record = Record::new(serde_json::from_value(intent).unwrap());
        assert!(steps.iter().all(|step| record.advance(step)));
        record
    }

    fn accepted() -> Step {
        let task = json!({
            "id": "1798fb82-0b75-459a-933a-ae7975066ead", "operation": "gen-2-pro", "cost": 3.0,
            "polling_url": "http://127.0.0.1:35153/v1/get_result?id=1798fb82", "region": "global",
        });
        Step::Accepted(serde_json::from_value(task).unwrap())
    }

    #[test]
    fn a_stored_record_continues_like_the_whole_one_and_is_small() {
        let ready = Step::Polled { status: TaskStatus::Ready, at: SystemTime::UNIX_EPOCH };
        let saved = Step::Saved {
            path: PathBuf::from("/home/anna/foxes/fox-1.png"),
            bytes: 1623,
            sha256: Some("54d38eb5090cbc31dc18966feda4fa72cf4d54f45b32fc5fdb429a1cf8937542".into()),
        };
        let steps = [accepted(), ready, saved];
        for done in 0..steps.len() {
            let whole = record(&steps[..done]);
            let stored = text(&whole, Some(20)).unwrap();
            let mut continued = read(&stored).unwrap();
            assert_eq!(continued.state(), whole.state());
            assert_eq!(continued.ready_at(), whole.ready_at());
            let url = |record: &Record| record.task().map(|task| task.polling_url().clone());
            assert_eq!(url(&continued), url(&whole));
            assert!(steps[done..].iter().all(|step| continued.advance(step)), "{stored}");
            assert_eq!(continued.state(), record(&steps).state());
        }
        let stored = text(&record(&steps), Some(20)).unwrap();
        assert!(stored.len() < 420, "{} bytes: {stored}", stored.len());
        let stored_record = read(&stored).unwrap();
        let State::Saved { bytes, sha256: Some(_), .. } = stored_record.state() else {
            panic!("{stored}");
        };
        assert_eq!(*bytes, 1623);
        // A submission without a job has nothing else that describes it.
        let whole = record(&steps);
        let alone = read(&text(&whole, None).unwrap()).unwrap();
        assert_eq!(alone.intent(), whole.intent());
        assert_eq!(alone.state(), whole.state());
    }
}
