//! Decisions of a person about submissions with unknown billing.

use super::{Ledger, database::Database, manage::why_unchanged};
#[cfg(doc)]
use crate::State;
use crate::{Error, ErrorKind, JobStatus};

/// What a person found out about the submission of an [`Unknown`](State::Unknown) job, for example
/// from the usage that the service reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The service billed it. The job becomes [`Failed`](State::Failed), because its task is not
    /// known.
    Paid,
    /// The service did not bill it. The job becomes [`Queued`](State::Queued) and is submitted by
    /// the next run.
    NotPaid,
}

impl Ledger {
    /// Resolves a job in the state [`Unknown`](State::Unknown), and returns its new status.
    ///
    /// [`NotPaid`](Resolution::NotPaid) for a submission that was billed means that the picture is
    /// paid for twice.
    ///
    /// # Errors
    ///
    /// - [`State`](ErrorKind::State): there is no job with this name, or it is not unknown.
    /// - [`Hold`](ErrorKind::Hold): the job cannot be [`NotPaid`](Resolution::NotPaid) yet, because
    ///   the worker that lost its lease may still send the request. The message says how long to
    ///   wait: at most 15 minutes.
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn resolve(&self, name: &str, resolution: Resolution) -> Result<JobStatus, Error> {
        let wanted = name.to_owned();
        let submission =
            self.transaction(async move |database| unknown(database, &wanted).await).await?;
        let wanted = name.to_owned();
        let resolve = async move |database: &mut Database| {
            resolve(database, &wanted, submission, resolution).await
        };
        self.transaction(resolve).await?;
        if resolution == Resolution::NotPaid {
            self.0.changes.send_replace(());
        }
        self.existing(name).await
    }
}

/// The state of jobs that can be resolved, for messages.
const UNKNOWN: &str = "unknown";

/// Returns the submission of an unknown job.
async fn unknown(database: &mut Database, name: &str) -> Result<i64, Error> {
    let find = "SELECT submission FROM jobs WHERE name = $1 AND state = 'unknown'";
    match database.row(find, [name.into()]).await? {
        Some(row) => Ok(row.get("submission")?),
        None => Err(why_unchanged(database, name, UNKNOWN).await?),
    }
}

/// Resolves this submission, and no later one: if the connection breaks after the commit, the job
/// may be submitted again before this runs the second time.
async fn resolve(
    database: &mut Database,
    name: &str,
    submission: i64,
    resolution: Resolution,
) -> Result<(), Error> {
    let (job, reason, submission_state) = match resolution {
        Resolution::Paid => {
            ("state = 'failed'", "it was billed, but its response was lost", "lost")
        }
        Resolution::NotPaid => (
            "state = 'queued', submission = NULL, worker = NULL, left_after = NULL",
            "an earlier submission was resolved as not billed",
            "withdrawn",
        ),
    };
    // A worker that takes over the job at this moment holds its submission first.
    database.lock().await?;
    let now = database.now().await?;
    let find = "SELECT state, hold_until FROM submissions WHERE id = $1";
    let row = database.row(find, [submission.into()]).await?.ok_or(sqlx::Error::RowNotFound)?;
    if row.get::<String>("state")? == submission_state {
        return Ok(());
    }
    let left = row.get::<Option<i64>>("hold_until")?.map(|until| until - now);
    if let Some(left) = left.filter(|left| *left > 0)
        && resolution == Resolution::NotPaid
    {
        return Err(held(name, left));
    }
    let change = format!(
        "UPDATE jobs SET {job}, reason = $1, changed_at = $2
         WHERE submission = $3 AND state = 'unknown'"
    );
    let changed = database.execute(&change, [reason.into(), now.into(), submission.into()]).await?;
    let close = "UPDATE submissions SET state = $1 WHERE id = $2 AND state = 'open'";
    let closed = database.execute(close, [submission_state.into(), submission.into()]).await?;
    match (changed, closed) {
        (1, 1) => Ok(()),
        _ => Err(why_unchanged(database, name, UNKNOWN).await?),
    }
}

/// `left` is in milliseconds.
fn held(name: &str, left: i64) -> Error {
    let message = format!(
        "job `{name}` cannot be resolved as not paid yet: the worker that submitted it lost its \
         lease and may still send the request; try again in {} s",
        (left + 999) / 1000
    );
    Error::new(ErrorKind::Hold, message)
}
