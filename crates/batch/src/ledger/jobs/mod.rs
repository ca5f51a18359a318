//! The jobs of a ledger.

pub(super) mod add;
mod archive;
pub(super) mod changes;
pub(super) mod decisions;
mod ended;
pub(super) mod resolve;
pub(super) mod status;

use imagekiln::{Request, journal::Record};

use self::status::{TABLES, matching, read_request};
#[cfg(doc)]
use crate::JobState;
use crate::{
    Error, ErrorKind, Filter, JobStatus,
    ledger::{Ledger, database::Value, records::read},
};

/// The jobs of a ledger, from [`Ledger::jobs`]: adds, reads and changes them.
#[derive(Debug, Clone, Copy)]
pub struct Jobs<'l> {
    ledger: &'l Ledger,
}

impl Ledger {
    /// Returns the jobs of the ledger.
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs { ledger: self }
    }

    pub(super) async fn find_job(
        &self,
        condition: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Option<(Request, Option<Record>)>, Error> {
        let find = format!("SELECT j.name, j.request, s.record FROM {TABLES} WHERE {condition}");
        let found = self.rows::<(String, String, Option<String>)>(find, values).await?.pop();
        let Some((name, request, record)) = found else { return Ok(None) };
        let request = read_request(&name, &request)?;
        Ok(Some((request, record.as_deref().map(read).transpose()?)))
    }
}

impl Jobs<'_> {
    /// Returns the request of the job with this name, without secrets, or `None` if there is no
    /// such job.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read, or a later version wrote the
    /// request.
    pub async fn request(self, name: &str) -> Result<Option<Request>, Error> {
        let found = self.ledger.find_job("j.name = $1", [name.into()]).await?;
        Ok(found.map(|(request, _)| request))
    }

    /// Cancels the jobs that match a filter and are not submitted: they become
    /// [`Cancelled`](JobState::Cancelled). Returns their number.
    ///
    /// Jobs that are already submitted continue, because they are paid for. [`retry`](Self::retry)
    /// queues a cancelled job again.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn cancel(self, filter: &Filter) -> Result<u64, Error> {
        let set = "state = 'cancelled', reason = NULL, worker = NULL, left_after = NULL,
            changed_at = $1";
        self.change_queued(filter, set, None).await
    }

    /// Sets the priority of the jobs that match a filter and are not submitted. Jobs with a higher
    /// priority are submitted first. Returns the number of jobs.
    ///
    /// The new priority does not affect the up to 32 jobs that a worker has already claimed.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn set_priority(self, filter: &Filter, priority: i64) -> Result<u64, Error> {
        self.change_queued(filter, "priority = $1", Some(priority)).await
    }

    /// Changes the queued jobs that match a filter. In `set`, `$1` is the value, or the current
    /// time if there is no value.
    async fn change_queued(
        self,
        filter: &Filter,
        set: &'static str,
        value: Option<i64>,
    ) -> Result<u64, Error> {
        let filter = filter.clone();
        self.ledger
            .transaction(move |database| {
                let mut values = vec![value.unwrap_or_else(|| database.now()).into()];
                let condition = matching(database, &filter, "jobs", &mut values);
                let change =
                    format!("UPDATE jobs SET {set} WHERE state = 'queued' AND {condition}");
                database.execute(&change, values)
            })
            .await
    }

    pub(crate) async fn existing(self, name: &str) -> Result<JobStatus, Error> {
        self.get(name).await?.ok_or_else(|| no_job(name))
    }
}

/// Returns the error for a job that is in none of the expected states.
fn unchanged(job: &JobStatus, expected: &str) -> Error {
    let JobStatus { name, state, .. } = job;
    let message = format!("job `{name}` is {state}, not {expected}; nothing was changed");
    Error::new(ErrorKind::State, message)
}

pub(super) fn no_job(name: &str) -> Error {
    Error::new(ErrorKind::State, format!("the ledger has no job `{name}`"))
}
