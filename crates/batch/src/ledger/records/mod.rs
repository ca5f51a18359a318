//! The submissions of a ledger, and their records.

pub(super) mod advance;
pub(super) mod lost;

use imagekiln::{
    find_operation,
    journal::{Intent, Key, Record},
};
use imagekiln_label::pixels_of_intent;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Error, ErrorKind,
    ledger::{
        database::{self, Database},
        ticket::Ticket,
    },
};

/// A row of the table of submissions. The other columns can be derived from the record.
pub(super) struct SubmissionRow {
    pub(super) id: i64,
    /// The job that it was for.
    pub(super) job: Option<i64>,
    /// The worker that lost its lease may still send the request until this time, in milliseconds
    /// since the Unix epoch.
    pub(super) hold_until: Option<i64>,
    pub(super) record: Record,
    /// The record as the ledger contains it.
    pub(super) stored: String,
}

impl SubmissionRow {
    /// Returns the submissions `s`, with their jobs `j`, that meet a condition.
    pub(super) fn find(
        database: &mut Database,
        condition: &str,
        values: impl IntoIterator<Item = database::Value>,
    ) -> Result<Vec<Self>, Error> {
        let find = format!(
            "SELECT s.id, s.job, s.hold_until, s.record FROM submissions s
             LEFT JOIN jobs j ON j.id = s.job WHERE {condition}"
        );
        let rows = database.rows::<(i64, Option<i64>, Option<i64>, String)>(&find, values)?;
        let read = |(id, job, hold_until, record): (_, _, _, String)| {
            Ok(Self { id, job, hold_until, record: read(&record)?, stored: record })
        };
        rows.into_iter().map(read).collect()
    }

    /// Returns the submission that meets a condition. Nobody else can change it until the end of
    /// the transaction.
    pub(super) fn find_one(
        database: &mut Database,
        condition: &str,
        value: impl Into<database::Value>,
    ) -> Result<Option<Self>, Error> {
        let condition = format!("{condition}{}", database.for_update("s"));
        Ok(Self::find(database, &condition, [value.into()])?.pop())
    }

    /// Writes a submission that is about to be sent.
    pub(super) fn insert(
        database: &mut Database,
        intent: &Intent,
        job: Option<i64>,
        ticket: Option<&Ticket>,
        owner: Option<i64>,
    ) -> Result<Self, Error> {
        let insert =
            "INSERT INTO submissions (intent_id, operation, group_name, job, token, worker,
                record, key_name, state, sent_at, pixels, owner)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'open', $9, $10, $11) RETURNING id";
        let record = Record::new(intent.clone());
        let stored = text(&record, job)?;
        let values = [
            intent.id().into(),
            intent.operation().into(),
            intent.group().map(str::to_owned).into(),
            job.into(),
            ticket.and_then(|ticket| ticket.token.clone()).into(),
            ticket.map(|ticket| ticket.worker).into(),
            (&stored).into(),
            key_name(intent, job.is_some()).map(str::to_owned).into(),
            database.now().into(),
            pixels_of_intent(intent).cast_signed().into(),
            owner.into(),
        ];
        let id = database.value(insert, values)?;
        Ok(Self { id, job, hold_until: None, record, stored })
    }
}

/// Returns the name of the idempotency key of a submission. The key of a job is its name.
pub(super) fn key_name(intent: &Intent, has_job: bool) -> Option<&str> {
    if has_job { intent.label() } else { intent.key().map(Key::name) }
}

/// Reads the record of a submission.
pub(super) fn read<T: DeserializeOwned>(record: &str) -> Result<T, Error> {
    serde_json::from_str(record)
        .map_err(Error::because(ErrorKind::Ledger, "could not read the record of a submission"))
}

/// Returns a record as the ledger stores it: without the fields that its job contains, and, if it
/// is closed, without the fields that only an open record needs. A ledger keeps all its records,
/// which may be millions.
pub(super) fn text(record: &Record, job: Option<i64>) -> Result<String, Error> {
    let mut stored = serde_json::to_value(record)
        .map_err(Error::because(ErrorKind::Ledger, "could not write the record of a submission"))?;
    if let Some(Value::Object(task)) = stored.get_mut("task") {
        // This field repeats the id of the intent.
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
                // A reference to a task cannot be read without this field.
                task.insert("polling_url".to_owned(), "".into());
            }
        }
    }
    Ok(stored.to_string())
}

/// Whether a submission has the task with this id, from the region of this operation: tasks of two
/// regions may have the same id.
pub(super) fn has_task(
    database: &mut Database,
    task_id: &str,
    operation: &str,
) -> Result<bool, Error> {
    let find = "SELECT operation FROM submissions WHERE task_id = $1";
    let operations = database.rows::<(String,)>(find, [task_id.into()])?;
    let region = |name: &str| find_operation(name).map(|operation| operation.region);
    Ok(operations.iter().any(|(other,)| region(other) == region(operation)))
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::SystemTime};

    use imagekiln::{
        TaskStatus,
        journal::{State, Step},
    };
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
        let ready = Step::Polled {
            status: TaskStatus::Ready,
            at: SystemTime::UNIX_EPOCH,
            date: None,
            details: None,
        };
        let saved = Step::Saved {
            path: PathBuf::from("/home/anna/foxes/fox-1.png"),
            bytes: 1623,
            sha256: Some("54d38eb5090cbc31dc18966feda4fa72cf4d54f45b32fc5fdb429a1cf8937542".into()),
        };
        let steps = [accepted(), ready, saved];
        for done in 0..steps.len() {
            let whole = record(&steps[..done]);
            let stored = text(&whole, Some(20)).unwrap();
            let mut continued: Record = read(&stored).unwrap();
            assert_eq!(continued.state(), whole.state());
            assert_eq!(continued.ready_at(), whole.ready_at());
            let url = |record: &Record| record.task().map(|task| task.polling_url().clone());
            assert_eq!(url(&continued), url(&whole));
            assert!(steps[done..].iter().all(|step| continued.advance(step)), "{stored}");
            assert_eq!(continued.state(), record(&steps).state());
        }
        let stored = text(&record(&steps), Some(20)).unwrap();
        assert!(stored.len() < 420, "{} bytes: {stored}", stored.len());
        let stored_record: Record = read(&stored).unwrap();
        let State::Saved { bytes, sha256: Some(_), .. } = stored_record.state() else {
            panic!("{stored}");
        };
        assert_eq!(*bytes, 1623);
        // A submission without a job has nothing else that describes it.
        let whole = record(&steps);
        let alone: Record = read(&text(&whole, None).unwrap()).unwrap();
        assert_eq!(alone.intent(), whole.intent());
        assert_eq!(alone.state(), whole.state());
    }
}
