//! Archives jobs that ended: removes their requests, and keeps the proof of what was paid.

use std::{convert::Infallible, future, time::Duration};

use tokio::time;

use super::Jobs;
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Error, JobState,
    ledger::{
        Ledger,
        database::{Database, clocks::milliseconds},
    },
    state::States,
};

/// The number of jobs that one transaction archives. Workers can write between two transactions.
const CHUNK: i64 = 1_000;

/// The states of jobs that are archived. Damaged jobs stay, because a person has to decide about
/// their pictures.
const ARCHIVABLE: States<'_> = States(&[
    JobState::Saved,
    JobState::Failed,
    JobState::Moderated,
    JobState::Expired,
    JobState::Cancelled,
]);

/// How often a run archives jobs.
const PAUSE: Duration = Duration::from_secs(60);

impl Jobs<'_> {
    /// Removes the jobs that ended at least `age` ago: those that are [`Saved`](JobState::Saved),
    /// [`Failed`](JobState::Failed), [`Moderated`](JobState::Moderated),
    /// [`Expired`](JobState::Expired) or [`Cancelled`](JobState::Cancelled). Returns their number.
    ///
    /// Their requests, which are the largest part of a ledger, are deleted. The ledger keeps the
    /// proof of payment: the record of each submission with its task and cost, and the file with
    /// its digest. [`spending`](crate::Reports::spending) and the budgets still count these
    /// submissions. The ledger also keeps the names of the jobs: a program can add the same jobs
    /// again, and they are not paid for a second time.
    ///
    /// SQLite uses the space for later jobs, but the file does not shrink.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be written. Some jobs may be archived:
    /// each transaction moves up to 1,000.
    pub async fn archive(self, age: Duration) -> Result<u64, Error> {
        let age = milliseconds(age);
        let mut archived = 0;
        loop {
            let left = self.ledger.transaction(move |database| archive(database, age)).await?;
            archived += left;
            if left == 0 {
                return Ok(archived);
            }
        }
    }
}

impl Ledger {
    /// [Archives](Jobs::archive) the jobs that ended at least `age` ago, again and again until the
    /// future is dropped. Without an `age`, archives nothing.
    pub(crate) async fn archive_regularly(self, age: Option<Duration>) -> Infallible {
        let Some(age) = age else { return future::pending().await };
        loop {
            if let Err(error) = self.jobs().archive(age).await {
                tracing::warn!(error = error.chain(), "jobs that ended stay in the ledger");
            }
            time::sleep(PAUSE).await;
        }
    }
}

/// Archives a chunk of jobs, and returns their number. If the transaction runs again after its
/// commit, it archives the next chunk.
fn archive(database: &mut Database, age: i64) -> Result<u64, Error> {
    let now = database.now();
    let find = format!(
        "SELECT id FROM jobs WHERE changed_at <= $1 AND {ARCHIVABLE}
            ORDER BY changed_at, id LIMIT $2{}",
        database.for_update("jobs SKIP LOCKED")
    );
    let ended = database.rows::<(i64,)>(&find, [(now - age).into(), CHUNK.into()])?;
    if ended.is_empty() {
        return Ok(0);
    }
    let ids: serde_json::Value = ended.into_iter().map(|(id,)| id).collect();
    let (ids, listed) = (ids.to_string(), database.numbers(1));
    let keep = format!(
        "INSERT INTO archived_jobs
            (name, number, target, request_sha256, state, location, archived_at)
         SELECT name, number, target, request_sha256, state, location, $2
         FROM jobs WHERE id IN ({listed})"
    );
    database.execute(&keep, [ids.as_str().into(), now.into()])?;
    let detach = format!("UPDATE submissions SET job = NULL WHERE job IN ({listed})");
    database.execute(&detach, [ids.as_str().into()])?;
    let remove = format!("DELETE FROM jobs WHERE id IN ({listed})");
    database.execute(&remove, [ids.as_str().into()])
}
