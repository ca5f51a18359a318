//! Retrying, removing and inspecting finished jobs.

use std::collections::BTreeMap;

use imagekiln::{Request, journal::Step, text::counted};

use super::{Ledger, database::Database, records::SubmissionRow};
use crate::{Error, ErrorKind, JobState, JobStatus};

impl Ledger {
    /// The states in which a job can be [retried](Self::retry): it ended without a picture.
    pub const RETRIABLE: &[JobState] = &[
        JobState::Damaged,
        JobState::Failed,
        JobState::Moderated,
        JobState::Expired,
        JobState::Cancelled,
    ];

    /// The states in which a job can be [forgotten](Self::forget): no picture of it can be lost.
    pub const FORGETTABLE: &[JobState] = &[
        JobState::Queued,
        JobState::Saved,
        JobState::Damaged,
        JobState::Failed,
        JobState::Moderated,
        JobState::Expired,
        JobState::Cancelled,
    ];

    /// Queues a job again that is in one of the states [`RETRIABLE`](Self::RETRIABLE), and returns
    /// its new status. The next run submits it, and the service may bill it again. What it has cost
    /// so far still counts for the budget.
    ///
    /// A [`Damaged`](JobState::Damaged) job becomes [`Submitted`](JobState::Submitted) instead: the
    /// next run downloads its picture again, and pays nothing. The damaged file stays.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name, or it is in another state.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn retry(&self, name: &str) -> Result<JobStatus, Error> {
        self.retry_below(name, u64::MAX).await
    }

    /// Queues a job again like [`retry`](Self::retry), unless it has had `submissions`
    /// [submissions](JobStatus::submissions) or more. The ledger counts them, so the bound holds
    /// for all processes and after a crash.
    ///
    /// # Errors
    ///
    /// The same errors as [`retry`](Self::retry), and kind [`State`](ErrorKind::State) if the job
    /// has had as many submissions.
    pub async fn retry_below(&self, name: &str, submissions: u64) -> Result<JobStatus, Error> {
        let (job, submission) = self.find_in(name, Self::RETRIABLE).await?;
        let job_name = name.to_owned();
        self.transaction(async move |database| {
            let now = database.now();
            let count = "SELECT COUNT(*) FROM submissions s
                JOIN jobs j ON j.id = s.job AND j.state <> 'damaged'
                WHERE s.job = $1 AND s.state <> 'withdrawn'";
            let had = database.row::<(i64,)>(count, [job.into()]).await?;
            let had = had.map_or(0, |(had,)| had.unsigned_abs());
            if had >= submissions {
                let times = counted(had, "submission");
                let message = format!("job `{job_name}` has had {times}; it was not queued again");
                return Err(Error::new(ErrorKind::State, message));
            }
            // Does not pay again if this runs again, and the job was submitted since.
            let retry = format!(
                "UPDATE jobs SET
                 state = CASE WHEN state = 'damaged' THEN 'submitted' ELSE 'queued' END,
                 submission = CASE WHEN state = 'damaged' THEN submission END,
                 ready_at = CASE WHEN state = 'damaged' THEN ready_at END,
                 reason = NULL, location = NULL, worker = NULL, left_after = NULL, changed_at = $1
                 WHERE id = $2 AND COALESCE(submission, 0) = COALESCE($3, 0) AND {}",
                state_in(Self::RETRIABLE)
            );
            database.execute(&retry, [now.into(), job.into(), submission.into()]).await?;
            Ok(())
        })
        .await?;
        self.0.changes.send_replace(());
        self.existing(name).await
    }

    /// Removes a job from the ledger. Its files stay, and what it has cost still counts for the
    /// budget. Its name is free again: a job or a key with it is submitted, and may be billed.
    ///
    /// Jobs whose submissions may be billed and whose pictures are not saved cannot be removed:
    /// those are [`Submitting`](JobState::Submitting), [`Submitted`](JobState::Submitted),
    /// [`Ready`](JobState::Ready) or [`Unknown`](JobState::Unknown).
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name, or it cannot be removed.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn forget(&self, name: &str) -> Result<(), Error> {
        let (job, _) = self.find_in(name, Self::FORGETTABLE).await?;
        let name = name.to_owned();
        self.transaction(async move |database| {
            let (job_id, job) = (job, [job.into()]);
            let states = state_in(Self::FORGETTABLE);
            let done = format!("(SELECT id FROM jobs WHERE id = $1 AND {states})");
            // Nobody continues the task of a damaged delivery.
            let damaged = "j.id = $1 AND j.submission = s.id AND j.state = 'damaged'";
            if let Some(mut submission) = SubmissionRow::find_one(database, damaged, job_id).await?
            {
                submission.advance(database, &Step::Settled).await?;
            }
            let detach =
                format!("UPDATE submissions SET job = NULL, key_name = NULL WHERE job IN {done}");
            database.execute(&detach, job.clone()).await?;
            let delete = format!("DELETE FROM jobs WHERE id IN {done}");
            database.execute(&delete, job.clone()).await?;
            // It may have been removed when this ran the first time.
            if database.finds("SELECT 1 FROM jobs WHERE id = $1", job).await? {
                return Err(why_unchanged(database, &name, &either(Self::FORGETTABLE)).await?);
            }
            Ok(())
        })
        .await
    }

    /// Returns the request of the job with this name, without secrets.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read, or a later version wrote the
    /// request.
    pub async fn request(&self, name: &str) -> Result<Option<Request>, Error> {
        let found = self.find_job("j.name = $1", [name.into()]).await?;
        Ok(found.map(|(request, _)| request))
    }

    /// Returns the price of a submission in credits, by operation: the highest known cost, or else
    /// the price that was [set](Self::set_price).
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn prices(&self) -> Result<BTreeMap<String, f64>, Error> {
        self.transaction(async |database| Ok(prices(database).await?)).await
    }

    /// Returns the job with this name and its submission. The job must be in one of the states.
    pub(super) async fn find_in(
        &self,
        name: &str,
        states: &'static [JobState],
    ) -> Result<(i64, Option<i64>), Error> {
        let name = name.to_owned();
        self.transaction(async move |database| {
            let find = "SELECT id, submission FROM jobs WHERE name = $1 AND ";
            let find = format!("{find}{}", state_in(states));
            match database.row(&find, [(&name).into()]).await? {
                Some(found) => Ok(found),
                None => Err(why_unchanged(database, &name, &either(states)).await?),
            }
        })
        .await
    }

    pub(crate) async fn existing(&self, name: &str) -> Result<JobStatus, Error> {
        self.job(name).await?.ok_or_else(|| no_job(name))
    }
}

/// Returns the price of a submission in credits, by operation.
pub(super) async fn prices(database: &mut Database) -> Result<BTreeMap<String, f64>, Error> {
    let set = "SELECT operation, credits FROM prices";
    let known = "SELECT operation, MAX(price) FROM spending
        WHERE group_name = '' AND price IS NOT NULL GROUP BY operation";
    let mut prices: BTreeMap<_, _> = database.rows(set, []).await?.into_iter().collect();
    prices.extend(database.rows::<(String, f64)>(known, []).await?);
    Ok(prices)
}

/// Returns the error for a job that is not in the expected state.
pub(super) async fn why_unchanged(
    database: &mut Database,
    name: &str,
    expected: &str,
) -> Result<Error, Error> {
    let state = "SELECT state FROM jobs WHERE name = $1";
    let Some((state,)) = database.row::<(String,)>(state, [name.into()]).await? else {
        return Ok(no_job(name));
    };
    let message = format!("job `{name}` is {state}, not {expected}; nothing was changed");
    Ok(Error::new(ErrorKind::State, message))
}

/// Returns the states for messages.
fn either(states: &[JobState]) -> String {
    match states {
        [others @ .., one, last] => {
            let others: String = others.iter().map(|state| format!("{state}, ")).collect();
            format!("{others}{one} or {last}")
        }
        states => states.iter().map(JobState::to_string).collect(),
    }
}

/// Returns the condition that a job is in one of the states.
pub(super) fn state_in(states: &[JobState]) -> String {
    let names: Vec<_> = states.iter().map(|state| format!("'{state}'")).collect();
    format!("state IN ({})", names.join(", "))
}

pub(super) fn no_job(name: &str) -> Error {
    Error::new(ErrorKind::State, format!("the ledger has no job `{name}`"))
}
