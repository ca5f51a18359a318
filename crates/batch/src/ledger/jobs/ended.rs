//! Queues jobs that ended again, or removes them from the ledger.

use imagekiln::journal::Step;

use super::{Jobs, status::page};
use crate::{
    Error, Filter, JobState,
    ledger::{
        database::{Database, Value},
        records::SubmissionRow,
    },
    state::States,
};
#[cfg(doc)]
use crate::{ErrorKind, JobStatus};

/// The number of jobs that one transaction changes.
const CHUNK: usize = 1_000;

impl Jobs<'_> {
    /// Queues the jobs again that match a filter and ended without a picture: those that are
    /// [`Failed`](JobState::Failed), [`Moderated`](JobState::Moderated),
    /// [`Expired`](JobState::Expired) or [`Cancelled`](JobState::Cancelled). Returns their number.
    /// The next run submits the jobs, and the service may bill them again. The cost of their
    /// earlier submissions still counts for the budgets.
    ///
    /// A [`Damaged`](JobState::Damaged) job that matches becomes [`Submitted`](JobState::Submitted)
    /// instead: the next run downloads its picture again, which costs nothing. The damaged file is
    /// not deleted.
    ///
    /// `most` limits how often one job can be billed: a job that has had this many
    /// [submissions](JobStatus::submissions) is left as it is, unless it is damaged. The ledger
    /// counts the submissions, so the limit holds for all processes and after a crash.
    ///
    /// ```
    /// use imagekiln_batch::{Filter, JobState, Ledger};
    ///
    /// # async fn run(ledger: Ledger) -> Result<(), imagekiln_batch::Error> {
    /// let retried = ledger.jobs().retry(&Filter::named(["fox-1"]), None).await?;
    /// let failed = Filter::states([JobState::Failed]);
    /// let others = ledger.jobs().retry(&failed, Some(3)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be written. Some jobs may be queued:
    /// each transaction changes up to 1,000.
    pub async fn retry(self, filter: &Filter, most: Option<u64>) -> Result<u64, Error> {
        let most = most.and_then(|most| i64::try_from(most).ok()).unwrap_or(i64::MAX);
        let retry = move |database: &mut Database, ended: &Ended| {
            let retry = format!(
                "UPDATE jobs SET
                 state = CASE WHEN state = 'damaged' THEN 'submitted' ELSE 'queued' END,
                 submission = CASE WHEN state = 'damaged' THEN submission END,
                 ready_at = CASE WHEN state = 'damaged' THEN ready_at END,
                 reason = NULL, location = NULL, worker = NULL, left_after = NULL, changed_at = $3
                 WHERE {} AND (state = 'damaged' OR $4 > (SELECT COUNT(*) FROM submissions s
                    WHERE s.job = jobs.id AND s.state <> 'withdrawn'))",
                ended.condition(database)
            );
            let [ids, submissions] = ended.values();
            let values = [ids, submissions, database.now().into(), most.into()];
            database.execute(&retry, values).map(drop)
        };
        let retried = self.change_ended(filter, JobState::RETRIABLE, retry).await?;
        self.ledger.announce();
        Ok(retried)
    }

    /// Removes the jobs that match a filter from the ledger, and returns their number. Their files
    /// are not deleted, and their cost still counts for the budgets. Their names are free again: a
    /// new job or key with such a name is submitted, and may be billed.
    ///
    /// Jobs whose submissions may be billed and whose pictures are not saved stay in the ledger:
    /// those are [`Submitting`](JobState::Submitting), [`Submitted`](JobState::Submitted),
    /// [`Ready`](JobState::Ready) or [`Unknown`](JobState::Unknown).
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be written. Some jobs may be removed:
    /// each transaction removes up to 1,000.
    pub async fn forget(self, filter: &Filter) -> Result<u64, Error> {
        let forget = |database: &mut Database, ended: &Ended| {
            let done = format!("(SELECT id FROM jobs WHERE {})", ended.condition(database));
            // Without the job, nobody downloads a damaged picture again, so its record is closed.
            let damaged = format!("j.state = 'damaged' AND j.submission = s.id AND j.id IN {done}");
            for mut submission in SubmissionRow::find(database, &damaged, ended.values())? {
                submission.advance(database, &Step::Settled)?;
            }
            let detach =
                format!("UPDATE submissions SET job = NULL, key_name = NULL WHERE job IN {done}");
            database.execute(&detach, ended.values())?;
            let delete = format!("DELETE FROM jobs WHERE id IN {done}");
            database.execute(&delete, ended.values()).map(drop)
        };
        self.change_ended(filter, JobState::FORGETTABLE, forget).await
    }

    /// Changes the jobs that match a filter and are in one of the states, so that they leave these
    /// states or the ledger. Returns their number. Workers can write between two chunks.
    async fn change_ended<W>(
        self,
        filter: &Filter,
        states: &'static [JobState],
        change: W,
    ) -> Result<u64, Error>
    where
        W: Fn(&mut Database, &Ended) -> Result<(), Error> + Clone + Send + 'static,
    {
        let (mut changed, mut last) = (0, 0);
        loop {
            let filter = filter.clone();
            let chunk = self.ledger.transaction(move |database| {
                let (listed, values) = page(database, &filter, last, CHUNK);
                let find = format!(
                    "SELECT j.id, COALESCE(j.submission, 0), j.number FROM jobs j
                     WHERE {} AND {listed}",
                    States(states)
                );
                Ok(Ended { jobs: database.rows(&find, values)?, states })
            });
            let ended = chunk.await?;
            let Some((.., number)) = ended.jobs.last() else { return Ok(changed) };
            last = number.unsigned_abs();
            let change = change.clone();
            let chunk = self.ledger.transaction(move |database| {
                change(database, &ended)?;
                // Count what is left, so that a second run after the commit returns the same
                // number.
                let left = format!(
                    "SELECT COUNT(*) FROM jobs WHERE id IN ({}) AND {}",
                    database.numbers(1),
                    States(states)
                );
                let [ids, _] = ended.values();
                let left: i64 = database.value(&left, [ids])?;
                Ok(ended.jobs.len() as u64 - left.unsigned_abs())
            });
            changed += chunk.await?;
        }
    }
}

/// Jobs that were in one of the states: their ids, their submissions or 0, and their numbers.
struct Ended {
    jobs: Vec<(i64, i64, i64)>,
    states: &'static [JobState],
}

impl Ended {
    /// Returns the condition for those of the jobs that nobody has continued since they were found.
    /// Without this condition, a second run of the transaction would queue a job that was submitted
    /// and failed in between, and the job would be paid for once more.
    fn condition(&self, database: &Database) -> String {
        let (ids, submissions) = (database.numbers(1), database.elements(2));
        format!(
            "id IN ({ids}) AND id || ' ' || COALESCE(submission, 0) IN ({submissions}) AND {}",
            States(self.states)
        )
    }

    /// Returns the values of the condition.
    fn values(&self) -> [Value; 2] {
        let ids: serde_json::Value = self.jobs.iter().map(|(id, ..)| *id).collect();
        let submission = |(id, submission, _): &(i64, i64, i64)| format!("{id} {submission}");
        let submissions: serde_json::Value = self.jobs.iter().map(submission).collect();
        [ids, submissions].map(|list| list.to_string().as_str().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, Ledger};

    #[tokio::test]
    async fn a_job_that_somebody_continued_in_the_meantime_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let fox = imagekiln::types::Gen2Pro::new("a red fox");
        ledger.jobs().add([Job::new("fox", "fox.jpg", fox)]).await.unwrap();
        ledger.jobs().cancel(&Filter::default()).await.unwrap();
        let retry = |database: &mut Database, ended: &Ended| {
            // As another person does between the list and the change.
            database.execute("UPDATE jobs SET state = 'queued', reason = 'other'", [])?;
            let retry =
                format!("UPDATE jobs SET reason = NULL WHERE {}", ended.condition(database));
            database.execute(&retry, ended.values()).map(drop)
        };
        ledger.jobs().change_ended(&Filter::default(), JobState::RETRIABLE, retry).await.unwrap();
        let reason = ledger.jobs().get("fox").await.unwrap().unwrap().reason;
        assert_eq!(reason.as_deref(), Some("other"));
    }
}
