//! Watches the changes of jobs by all workers of a ledger.

use std::{collections::HashMap, time::Duration};

use tokio::time;

use super::{Jobs, status::find_jobs};
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Error, JobState, JobStatus,
    ledger::{Ledger, database::Database},
};

/// How often a watch reads the ledger. Unlike notifications of the server, this works with both
/// databases and through a connection pooler.
const LOOKS: Duration = Duration::from_millis(500);

/// How much later than its recorded time a change may become visible, in milliseconds: a
/// transaction reads the clock when it begins, and its changes become visible when it commits.
const OVERLAP: i64 = 10_000;

/// The number of jobs that are read at once.
const PAGE: usize = 500;

/// The changes of the jobs of a ledger, from [`Jobs::watch`].
#[derive(Debug)]
#[must_use = "changes are only read when they are asked for"]
pub struct Watch {
    ledger: Ledger,
    /// The time and the number of the last change that was read.
    last: (i64, i64),
    /// The jobs that have changed since the start of the overlap, as they were last returned.
    seen: HashMap<i64, (i64, JobState, Option<String>)>,
}

impl Jobs<'_> {
    /// Watches the changes of jobs from now on, by all workers and processes of the ledger. A
    /// change is seen within a second.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn watch(self) -> Result<Watch, Error> {
        let now = now(self.ledger).await?;
        let (ledger, last) = (self.ledger.clone(), (now - OVERLAP, 0));
        let mut watch = Watch { ledger, last, seen: HashMap::new() };
        // Mark the changes before now as seen, so that they are not returned.
        while watch.page().await?.1 {}
        Ok(watch)
    }
}

impl Watch {
    /// Waits until jobs change, and returns their new statuses, at most 500. If a job changes
    /// several times within half a second, only its last status is returned. A job that is removed
    /// is not returned.
    ///
    /// Dropping the future loses no change.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read. Call this again to continue.
    pub async fn changed(&mut self) -> Result<Vec<JobStatus>, Error> {
        loop {
            let now = now(&self.ledger).await?;
            // `page` marks changes as seen: nothing may be awaited before they are returned.
            let (changed, has_more) = self.page().await?;
            if !has_more {
                // The clock may have been set back.
                let start = self.last.0.min(now) - OVERLAP;
                self.last = (start, 0);
                self.seen.retain(|_, (at, ..)| *at >= start);
            }
            if !changed.is_empty() {
                return Ok(changed);
            }
            if !has_more {
                time::sleep(LOOKS).await;
            }
        }
    }

    /// Returns the new changes of the next page, and whether there may be another page.
    async fn page(&mut self) -> Result<(Vec<JobStatus>, bool), Error> {
        let (at, id) = self.last;
        let find = move |database: &mut Database| {
            let page = "(j.changed_at, j.id) > ($1, $2) ORDER BY j.changed_at, j.id LIMIT $3";
            find_jobs(database, page, [at.into(), id.into(), (PAGE as i64).into()])
        };
        let found = self.ledger.transaction(find).await?;
        let has_more = found.len() == PAGE;
        let mut news = Vec::new();
        for job in found {
            self.last = (job.changed_at, job.id);
            let seen = (job.changed_at, job.status.state, job.status.reason.clone());
            if self.seen.insert(job.id, seen.clone()) != Some(seen) {
                news.push(job.status);
            }
        }
        Ok((news, has_more))
    }
}

async fn now(ledger: &Ledger) -> Result<i64, Error> {
    ledger.transaction(|database| Ok(database.now())).await
}
