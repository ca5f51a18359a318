//! What a person does with jobs that ended.

use std::collections::BTreeMap;

use imagekiln::Request;

use super::{Ledger, database::Database};
#[cfg(doc)]
use crate::State;
use crate::{Error, ErrorKind, JobStatus};

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
        let wanted = name.to_owned();
        self.transaction(async move |database| {
            let now = database.now().await?;
            let retry = "UPDATE jobs SET state = 'queued', reason = NULL, submission = NULL,
                location = NULL, worker = NULL, left_at = NULL, ready_at = NULL, changed_at = $1
                WHERE name = $2 AND state IN ('failed', 'moderated', 'expired')";
            let changed = database.execute(retry, [now.into(), (&wanted).into()]).await?;
            must_have_changed(database, &wanted, changed, "failed, moderated or expired").await
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
        let name = name.to_owned();
        self.transaction(async move |database| {
            let done = "(SELECT id FROM jobs WHERE name = $1
                AND state IN ('queued', 'saved', 'failed', 'moderated', 'expired'))";
            let detach = format!(
                "UPDATE submissions SET job = NULL,
                 state = CASE WHEN state = 'accepted' THEN 'settled' ELSE state END
                 WHERE job IN {done}"
            );
            database.execute(&detach, [(&name).into()]).await?;
            let delete = format!("DELETE FROM jobs WHERE id IN {done}");
            let deleted = database.execute(&delete, [(&name).into()]).await?;
            must_have_changed(database, &name, deleted, "queued, saved, or ended otherwise").await
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

    pub(super) async fn existing(&self, name: &str) -> Result<JobStatus, Error> {
        self.job(name).await?.ok_or_else(|| no_job(name))
    }
}

async fn must_have_changed(
    database: &mut Database,
    name: &str,
    changed: u64,
    expected: &str,
) -> Result<(), Error> {
    match changed {
        1 => Ok(()),
        _ => Err(why_unchanged(database, name, expected).await?),
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
