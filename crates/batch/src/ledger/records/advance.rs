//! Advances a submission by a step, and changes its job accordingly.

use imagekiln::{
    TaskRef, TaskStatus,
    journal::{State, Step},
};

use super::{SubmissionRow, text};
use crate::{
    Error, ErrorKind, JobState,
    ledger::{
        database::{self, Database},
        limits::outage,
    },
    state::{ACTIVE, NOT_SUBMITTED, PAID, States, SubmissionState},
};

/// The highest cost that a ledger counts, in credits. It keeps sums of costs finite, because
/// PostgreSQL fails if a sum overflows.
const MOST_CREDITS: f64 = 1e300;

/// A change of a job: an `UPDATE`, and the values of its parameters.
type JobChange = (String, Vec<database::Value>);

impl SubmissionRow {
    /// Applies a step to the record, and changes the job accordingly.
    ///
    /// Fails with kind [`State`](ErrorKind::State), before it writes anything, if the step is a
    /// task that cannot be recorded: the record has another task, or the job was submitted again.
    pub(in crate::ledger) fn advance(
        &mut self,
        database: &mut Database,
        step: &Step,
    ) -> Result<(), Error> {
        if self.try_advance(database, step)? { Ok(()) } else { Err(no_place()) }
    }

    /// Like [`advance`](Self::advance), but this row may be older than the row in the ledger. If it
    /// is, or if the step cannot be recorded, writes nothing and returns `false`.
    pub(in crate::ledger) fn try_advance(
        &mut self,
        database: &mut Database,
        step: &Step,
    ) -> Result<bool, Error> {
        let (before, was_lost) = (self.record.state().clone(), self.record.is_lost());
        let has_changed = self.record.advance(step);
        let task = self.record.task();
        if let Step::Accepted(accepted) = step
            && task.is_none_or(|task| task.id() != accepted.id())
        {
            return Ok(false);
        }
        if !has_changed {
            return Ok(true);
        }
        let has_new_state = *self.record.state() != before;
        let change = if has_new_state { self.job_change(database.now()) } else { None };
        let is_written = self.write(database, change)?;
        if is_written && was_lost && matches!(step, Step::Accepted(_)) {
            outage::found(database)?;
        }
        Ok(is_written)
    }

    /// Like [`try_advance`](Self::try_advance), with a change of the job by its worker. Returns
    /// `false` if nothing was written.
    pub(in crate::ledger) fn advance_with(
        &mut self,
        database: &mut Database,
        step: &Step,
        change: JobChange,
    ) -> Result<bool, Error> {
        if self.record.advance(step) {
            return self.write(database, Some(change));
        }
        let (update, values) = change;
        Ok(database.execute(&update, values)? > 0)
    }

    /// Writes the record, and a change of the job. If one of the rows is not as expected, writes
    /// nothing and returns `false`.
    fn write(&mut self, database: &mut Database, change: Option<JobChange>) -> Result<bool, Error> {
        let expected = format!(
            "SELECT 1 FROM submissions WHERE id = $1 AND record = $2{}",
            database.for_update("submissions")
        );
        if !database.finds(&expected, [self.id.into(), (&self.stored).into()])? {
            return Ok(false);
        }
        if let Some((update, values)) = change
            && database.execute(&update, values)? == 0
        {
            return Ok(false);
        }
        let update = "UPDATE submissions SET record = $2, state = $3, task_id = $4, cost = $5,
            accepted_at = COALESCE(accepted_at, $6) WHERE id = $1";
        let (stored, task) = (text(&self.record, self.job)?, self.record.task());
        let values = [
            self.id.into(),
            (&stored).into(),
            (&self.state().to_string()).into(),
            task.map(|task| task.id().to_owned()).into(),
            task.and_then(TaskRef::cost).map(|credits| credits.min(MOST_CREDITS)).into(),
            task.map(|_| database.now()).into(),
        ];
        database.execute(update, values)?;
        self.stored = stored;
        Ok(true)
    }

    /// Returns the value of the column `state`.
    fn state(&self) -> SubmissionState {
        match self.record.state() {
            State::Unknown => SubmissionState::Open,
            State::Accepted | State::Ready => SubmissionState::Accepted,
            State::NotBilled => SubmissionState::Withdrawn,
            // A job whose task is not known is settled because a person resolved it as paid. A
            // submission without a job is settled because it is dismissed as not billed, so no
            // budget counts it.
            _ if self.record.task().is_none() && self.job.is_none() => SubmissionState::Withdrawn,
            _ => SubmissionState::Settled,
        }
    }

    /// Returns the change that makes the job match the state of the record. The worker of the job
    /// makes the other changes: it chooses the location of a ready picture, and describes a saved
    /// one.
    fn job_change(&self, now: i64) -> Option<JobChange> {
        let (job, paid) = (self.job?, PAID.0);
        let (to, from, reason) = match self.record.state() {
            State::NotBilled => (
                JobState::Queued,
                &[JobState::Submitting, JobState::Unknown][..],
                Some("an earlier submission was resolved as not billed".to_owned()),
            ),
            // A person may have resolved the job in the meantime. If it was queued, it continues
            // with this task, so that it is not paid for twice.
            State::Accepted => {
                use JobState::{Cancelled, Failed, Queued, Submitting, Unknown};
                (JobState::Submitted, &[Submitting, Unknown, Failed, Queued, Cancelled][..], None)
            }
            State::Failed(status) => {
                let moderated = [TaskStatus::RequestModerated, TaskStatus::ContentModerated];
                let is_moderated = moderated.contains(status);
                let to = if is_moderated { JobState::Moderated } else { JobState::Failed };
                (to, paid, Some(format!("the task ended with status `{status}`")))
            }
            State::Expired => (
                JobState::Expired,
                paid,
                Some("the delivery URL was refused after the end of its validity".to_owned()),
            ),
            State::Settled if self.record.task().is_none() => (
                JobState::Failed,
                &[JobState::Unknown][..],
                Some("it was billed, but its response was lost".to_owned()),
            ),
            _ => return None,
        };
        // A worker that is working on the job keeps it.
        let update = format!(
            "UPDATE jobs SET state = $1, changed_at = $3, left_after = NULL,
             reason = CASE WHEN $1 <> 'queued' OR state = 'unknown' THEN $2 END,
             submission = CASE WHEN $1 <> 'queued' THEN $4 END,
             worker = CASE WHEN {ACTIVE} THEN worker END
             WHERE id = $5 AND {} AND
                (submission = $4 OR {NOT_SUBMITTED})",
            States(from)
        );
        let values =
            vec![to.as_str().into(), reason.into(), now.into(), self.id.into(), job.into()];
        Some((update, values))
    }
}

fn no_place() -> Error {
    let message = "the submission has another task, or its job does not wait for it; nothing was \
                   changed";
    Error::new(ErrorKind::State, message)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use imagekiln::journal::Intent;
    use serde_json::json;

    use super::*;
    use crate::Ledger;

    fn intent() -> Intent {
        let intent = json!({"id": "f55b1875", "operation": "gen-2-pro", "at": 1_795_673_076});
        serde_json::from_value(intent).unwrap()
    }

    fn accepted() -> Step {
        let task = json!({"id": "1798fb82", "polling_url": "", "cost": 3.0});
        Step::Accepted(serde_json::from_value(task).unwrap())
    }

    fn polled(status: TaskStatus) -> Step {
        Step::Polled { status, at: SystemTime::UNIX_EPOCH, date: None, details: None }
    }

    /// Two parts of a program read the same submission. The second one to write it does nothing.
    fn check_that_stale_rows_are_not_written(database: &mut Database) {
        let add =
            "INSERT INTO jobs (name, number, target, operation, request, request_sha256, pixels,
                state, added_at, changed_at)
            VALUES ('fox-1', 1, 'fox-1', 'gen-2-pro', '', '', 0, 'queued', 0, 0) RETURNING id";
        let job: i64 = database.value(add, []).unwrap();
        let add =
            "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0) RETURNING id";
        let worker: i64 = database.value(add, []).unwrap();
        let (intent, find) = (intent(), "j.name = $1");
        let mut one = SubmissionRow::insert(database, &intent, Some(job), None, None).unwrap();
        let submit = "UPDATE jobs SET state = 'submitting', submission = $1, worker = $2";
        database.execute(submit, [one.id.into(), worker.into()]).unwrap();
        assert!(one.try_advance(database, &accepted()).unwrap());
        let mut other = SubmissionRow::find_one(database, find, "fox-1").unwrap().unwrap();
        assert!(other.try_advance(database, &polled(TaskStatus::Ready)).unwrap());
        assert!(!one.try_advance(database, &polled(TaskStatus::Error)).unwrap());
        assert_eq!(states(database), ("submitted".to_owned(), "accepted".to_owned()));

        // The job does not match, so the submission stays as it is, too.
        let save = "UPDATE jobs SET state = 'saved', location = ''";
        database.execute(save, []).unwrap();
        assert!(!other.try_advance(database, &polled(TaskStatus::Error)).unwrap());
        assert_eq!(states(database), ("saved".to_owned(), "accepted".to_owned()));

        database.execute("UPDATE jobs SET state = 'submitted'", []).unwrap();
        let mut other = SubmissionRow::find_one(database, find, "fox-1").unwrap().unwrap();
        assert!(other.try_advance(database, &polled(TaskStatus::Error)).unwrap());
        assert_eq!(states(database), ("failed".to_owned(), "settled".to_owned()));
    }

    fn states(database: &mut Database) -> (String, String) {
        let states = "SELECT j.state, s.state FROM jobs j JOIN submissions s ON s.job = j.id";
        database.row(states, []).unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_stale_row_is_not_written_to_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let check = |database: &mut Database| {
            check_that_stale_rows_are_not_written(database);
            Ok(())
        };
        ledger.transaction(check).await.unwrap();
    }

    #[cfg(feature = "postgres")]
    #[tokio::test]
    async fn a_stale_row_is_not_written_to_a_server() {
        use imagekiln_testbed::postgres::{POSTGRES, cluster};
        if !(POSTGRES.is_present)() && std::env::var_os(POSTGRES.variable).is_none() {
            return;
        }
        let ledger = Ledger::open(&cluster().create_database()).await.unwrap();
        let check = |database: &mut Database| {
            check_that_stale_rows_are_not_written(database);
            Ok(())
        };
        ledger.transaction(check).await.unwrap();
    }
}
