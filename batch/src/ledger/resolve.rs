//! Decisions of a person about submissions with unknown billing.

use super::{Ledger, database::Database, exactly_one, manage::must_have_changed};
use crate::{Error, ErrorKind, JobStatus, State};

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
        self.transaction(async move |database| resolve(database, &wanted, resolution).await)
            .await?;
        if resolution == Resolution::NotPaid {
            self.0.changed.notify_waiters();
        }
        self.existing(name).await
    }
}

async fn resolve(database: &mut Database, name: &str, resolution: Resolution) -> Result<(), Error> {
    let (job, reason, submission_state) = match resolution {
        Resolution::Paid => {
            ("state = 'failed'", "it was billed, but its response was lost", "lost")
        }
        Resolution::NotPaid => (
            "state = 'queued', submission = NULL, worker = NULL, left_at = NULL",
            "an earlier submission was resolved as not billed",
            "withdrawn",
        ),
    };
    let now = database.now().await?;
    let find = "SELECT j.submission, s.hold_until FROM jobs j
        JOIN submissions s ON s.id = j.submission WHERE j.name = $1";
    let (submission, hold_until) = match database.row(find, [name.into()]).await? {
        Some(row) => (row.get("submission")?, row.get::<Option<i64>>("hold_until")?),
        None => (None::<i64>, None),
    };
    let change = format!(
        "UPDATE jobs SET {job}, reason = $1, changed_at = $2
         WHERE name = $3 AND state = 'unknown'"
    );
    let changed = database.execute(&change, [reason.into(), now.into(), name.into()]).await?;
    must_have_changed(database, name, changed, "unknown").await?;
    if let Some(left) = hold_until.map(|until| until - now).filter(|left| *left > 0)
        && resolution == Resolution::NotPaid
    {
        return Err(held(name, left));
    }
    let close = "UPDATE submissions SET state = $1 WHERE id = $2 AND state = 'open'";
    let closed = database.execute(close, [submission_state.into(), submission.into()]).await?;
    exactly_one(closed, format!("job `{name}`"), State::Unknown)
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
