//! Retrying, removing and inspecting finished jobs.

use std::collections::BTreeMap;

use imagekiln::Request;

use super::{Ledger, database::Database};
#[cfg(doc)]
use crate::State;
use crate::{Error, ErrorKind, JobStatus};

/// States that a change expects, and their name in messages.
struct States {
    all: &'static [&'static str],
    name: &'static str,
}

/// The job ended without a picture.
const ENDED: States =
    States { all: &["failed", "moderated", "expired"], name: "failed, moderated or expired" };

/// No picture of the job can be lost.
const DONE: States = States {
    all: &["queued", "saved", "failed", "moderated", "expired"],
    name: "queued, saved, or ended otherwise",
};

/// A job as it was found.
struct Found {
    id: i64,
    /// The number of its submission, or 0.
    submission: i64,
}

impl Ledger {
    /// Queues a job again that is [`Failed`](State::Failed), [`Moderated`](State::Moderated) or
    /// [`Expired`](State::Expired), and returns its new status. The next run submits it, and the
    /// service may bill it again. What it has cost so far still counts for the budget.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name, or it is in another state.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn retry(&self, name: &str) -> Result<JobStatus, Error> {
        let ended = self.find_in(name, &ENDED).await?;
        self.transaction(async move |database| {
            let now = database.now().await?;
            // Does not pay again if this runs again, and the job was submitted since.
            let retry = "UPDATE jobs SET state = 'queued', reason = NULL, submission = NULL,
                location = NULL, worker = NULL, left_after = NULL, ready_at = NULL, changed_at = $1
                WHERE id = $2 AND COALESCE(submission, 0) = $3
                AND state IN ('failed', 'moderated', 'expired')";
            let values = [now.into(), ended.id.into(), ended.submission.into()];
            database.execute(retry, values).await?;
            Ok(())
        })
        .await?;
        self.0.changes.send_replace(());
        self.existing(name).await
    }

    /// Removes a job from the ledger. Its files stay, and what it has cost still counts for the
    /// budget.
    ///
    /// Jobs whose submissions may be billed and whose pictures are not saved cannot be removed:
    /// those are [`Submitting`](State::Submitting), [`Submitted`](State::Submitted),
    /// [`Ready`](State::Ready) or [`Unknown`](State::Unknown).
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name, or it cannot be removed.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn forget(&self, name: &str) -> Result<(), Error> {
        let done = self.find_in(name, &DONE).await?;
        let name = name.to_owned();
        self.transaction(async move |database| {
            let still_done = "(SELECT id FROM jobs WHERE id = $1
                AND state IN ('queued', 'saved', 'failed', 'moderated', 'expired'))";
            let detach = format!(
                "UPDATE submissions SET job = NULL,
                 state = CASE WHEN state = 'accepted' THEN 'settled' ELSE state END
                 WHERE job IN {still_done}"
            );
            database.execute(&detach, [done.id.into()]).await?;
            let delete = format!("DELETE FROM jobs WHERE id IN {still_done}");
            database.execute(&delete, [done.id.into()]).await?;
            // It may have been removed when this ran the first time.
            let left = "SELECT 1 AS found FROM jobs WHERE id = $1";
            match database.row(left, [done.id.into()]).await? {
                None => Ok(()),
                Some(_) => Err(why_unchanged(database, &name, DONE.name).await?),
            }
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
        let wanted = name.to_owned();
        let id = self
            .transaction(async move |database| {
                let find = "SELECT id FROM jobs WHERE name = $1";
                let row = database.row(find, [(&wanted).into()]).await?;
                row.map(|row| Ok(row.get::<i64>("id")?)).transpose()
            })
            .await?;
        match id {
            Some(id) => Ok(Some(self.open_job(id).await?.request)),
            None => Ok(None),
        }
    }

    /// Returns the highest known cost of a submission in credits, by operation.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn prices(&self) -> Result<BTreeMap<String, f64>, Error> {
        self.transaction(async |database| {
            let prices = "SELECT operation, MAX(cost) AS price FROM submissions
                WHERE cost IS NOT NULL GROUP BY operation";
            let rows = database.rows(prices, []).await?;
            rows.iter().map(|row| Ok((row.get("operation")?, row.get("price")?))).collect()
        })
        .await
    }

    /// Finds the job with this name, which must be in one of the states.
    async fn find_in(&self, name: &str, states: &'static States) -> Result<Found, Error> {
        let name = name.to_owned();
        self.transaction(async move |database| {
            let find = "SELECT id, state, COALESCE(submission, 0) AS submission FROM jobs
                WHERE name = $1";
            let row = database.row(find, [(&name).into()]).await?.ok_or_else(|| no_job(&name))?;
            match states.all.contains(&&*row.get::<String>("state")?) {
                true => Ok(Found { id: row.get("id")?, submission: row.get("submission")? }),
                false => Err(why_unchanged(database, &name, states.name).await?),
            }
        })
        .await
    }

    pub(crate) async fn existing(&self, name: &str) -> Result<JobStatus, Error> {
        self.job(name).await?.ok_or_else(|| no_job(name))
    }
}

/// Returns the error for a job that is not in the expected state.
pub(super) async fn why_unchanged(
    database: &mut Database,
    name: &str,
    expected: &str,
) -> Result<Error, Error> {
    let state = "SELECT state FROM jobs WHERE name = $1";
    let Some(row) = database.row(state, [name.into()]).await? else { return Ok(no_job(name)) };
    let state: String = row.get("state")?;
    let message = format!("job `{name}` is {state}, not {expected}; nothing was changed");
    Ok(Error::new(ErrorKind::State, message))
}

fn no_job(name: &str) -> Error {
    Error::new(ErrorKind::State, format!("the ledger has no job `{name}`"))
}
