//! Decisions of a person about submissions with unknown billing.

use sqlx::Connection as _;

use super::{Ledger, exactly_one};
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
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn resolve(&self, name: &str, resolution: Resolution) -> Result<JobStatus, Error> {
        let (job, reason, submission) = match resolution {
            Resolution::Paid => {
                ("state = 'failed'", "it was billed, but its response was lost", "lost")
            }
            Resolution::NotPaid => (
                "state = 'queued', submission = NULL",
                "an earlier submission was resolved as not billed",
                "withdrawn",
            ),
        };
        let wanted = name.to_owned();
        self.with(async move |connection| {
            let name = &wanted;
            let mut transaction = connection.begin().await?;
            let current: Option<i64> =
                sqlx::query_scalar("SELECT submission FROM jobs WHERE name = ?")
                    .bind(name)
                    .fetch_optional(&mut *transaction)
                    .await?
                    .flatten();
            let changed = sqlx::query(&format!(
                "UPDATE jobs SET {job}, reason = ? WHERE name = ? AND state = 'unknown'"
            ))
            .bind(reason)
            .bind(name)
            .execute(&mut *transaction)
            .await?;
            exactly_one(changed.rows_affected(), format!("job `{name}`"), State::Unknown)?;
            let closed =
                sqlx::query("UPDATE submissions SET state = ? WHERE id = ? AND state = 'open'")
                    .bind(submission)
                    .bind(current)
                    .execute(&mut *transaction)
                    .await?;
            exactly_one(closed.rows_affected(), format!("job `{name}`"), State::Unknown)?;
            Ok::<_, Error>(transaction.commit().await?)
        })
        .await?;
        self.job(name)
            .await?
            .ok_or_else(|| Error::new(ErrorKind::State, format!("the ledger has no job `{name}`")))
    }
}
