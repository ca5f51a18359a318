//! Requests and prices of a ledger, and errors about its jobs.

use imagekiln::Request;

use super::{Ledger, database::Database};
use crate::{Error, ErrorKind, JobState, JobStatus, Price, Prices};

impl Ledger {
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

    /// Returns what submissions cost: the prices that were [set](Self::set_price), and the known
    /// costs.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn prices(&self) -> Result<Prices, Error> {
        self.transaction(prices).await
    }

    pub(crate) async fn existing(&self, name: &str) -> Result<JobStatus, Error> {
        self.job(name).await?.ok_or_else(|| no_job(name))
    }
}

/// Returns what submissions cost.
pub(super) fn prices(database: &mut Database) -> Result<Prices, Error> {
    let set = "SELECT operation, credits, per_megapixel FROM prices";
    let known = "SELECT operation, MAX(price) FROM spending
        WHERE group_name = '' AND price IS NOT NULL GROUP BY operation";
    let set = database.rows::<(String, f64, f64)>(set, [])?.into_iter();
    let set = set
        .map(|(operation, credits, per_megapixel)| (operation, Price { credits, per_megapixel }));
    let known = database.rows(known, [])?.into_iter().collect();
    Ok(Prices::new(set.collect(), known))
}

/// Returns the error for a job that is in none of the expected states.
pub(super) fn unchanged(job: &JobStatus, expected: &[JobState]) -> Error {
    let JobStatus { name, state, .. } = job;
    let message = format!("job `{name}` is {state}, not {}; nothing was changed", either(expected));
    Error::new(ErrorKind::State, message)
}

/// Returns the error for a job that is not in the expected state.
pub(super) fn why_unchanged(
    database: &mut Database,
    name: &str,
    expected: &str,
) -> Result<Error, Error> {
    let state = "SELECT state FROM jobs WHERE name = $1";
    let Some((state,)) = database.row::<(String,)>(state, [name.into()])? else {
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
