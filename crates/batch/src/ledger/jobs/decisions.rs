//! Resolves many unknown jobs at once.

use imagekiln::journal::{State, Step};

use super::{
    Jobs,
    resolve::Resolution,
    status::{FoundJob, find_jobs, page},
};
use crate::{
    Error, Filter, JobStatus,
    ledger::{
        database::{Database, no_row},
        records::SubmissionRow,
    },
};

/// The number of jobs about which one transaction decides. Workers wait until the transaction ends.
const PAGE: usize = 100;

/// The unknown jobs that [`Jobs::resolve_all`] resolved and left out, each with the status that
/// it had before.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Resolved {
    /// The jobs that are resolved.
    pub resolved: Vec<JobStatus>,
    /// The jobs that cannot be [`NotPaid`](Resolution::NotPaid) yet, because the worker that lost
    /// its lease may still send the request: see [`ErrorKind::Hold`](crate::ErrorKind::Hold).
    pub held: Vec<JobStatus>,
    /// The jobs that changed in the meantime: a webhook found their tasks, or another person
    /// decided about them.
    pub changed: Vec<JobStatus>,
}

/// What happens to an unknown job.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Resolved,
    Held,
    Changed,
}

impl Jobs<'_> {
    /// Resolves all jobs in the state [`Unknown`](crate::JobState::Unknown) that match a filter as
    /// [`Paid`](Resolution::Paid) or [`NotPaid`](Resolution::NotPaid), like
    /// [`resolve`](Self::resolve).
    ///
    /// A task takes precedence over the decision: if a webhook finds the task of a job at the same
    /// time, the job continues with it. To leave out jobs that become unknown while you decide, use
    /// [`Filter::sent_before`].
    ///
    /// ```
    /// use std::time::SystemTime;
    ///
    /// use imagekiln_batch::{Filter, JobState, Ledger, Resolution};
    ///
    /// # async fn run(
    /// #     ledger: Ledger,
    /// #     outage: std::ops::Range<SystemTime>,
    /// # ) -> Result<(), imagekiln_batch::Error> {
    /// let lost = Filter {
    ///     sent_after: Some(outage.start),
    ///     sent_before: Some(outage.end),
    ///     ..Filter::states([JobState::Unknown])
    /// };
    /// for job in ledger.jobs().list(&lost).await? {
    ///     println!("{} {:?}", job.name, job.sent_at);
    /// }
    /// let done = ledger.jobs().resolve_all(&lost, Resolution::NotPaid).await?;
    /// println!("{} jobs, {} others not yet", done.resolved.len(), done.held.len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`State`](crate::ErrorKind::State): the resolution is [`Damaged`](Resolution::Damaged).
    /// - [`Ledger`](crate::ErrorKind::Ledger): the ledger cannot be written. Some jobs may be
    ///   resolved: each transaction resolves up to 100.
    pub async fn resolve_all(
        self,
        filter: &Filter,
        resolution: Resolution,
    ) -> Result<Resolved, Error> {
        self.resolve_pages(filter, resolution, true).await
    }

    /// Returns which jobs [`resolve_all`](Self::resolve_all) would resolve and leave out now, for
    /// `kiln batch resolve --dry-run`. Changes nothing.
    ///
    /// # Errors
    ///
    /// The same errors as [`resolve_all`](Self::resolve_all).
    #[doc(hidden)]
    pub async fn would_resolve(
        self,
        filter: &Filter,
        resolution: Resolution,
    ) -> Result<Resolved, Error> {
        self.resolve_pages(filter, resolution, false).await
    }

    async fn resolve_pages(
        self,
        filter: &Filter,
        resolution: Resolution,
        writes: bool,
    ) -> Result<Resolved, Error> {
        let step = resolution.step()?;
        let (mut all, mut last) = (Resolved::default(), 0);
        loop {
            let jobs = self.unresolved(filter, last).await?;
            let Some(end) = jobs.last() else { break };
            last = end.status.number;
            let outcomes = self.decide_page(&jobs, &step, writes).await?;
            for (job, outcome) in jobs.into_iter().zip(outcomes) {
                let jobs = match outcome {
                    Outcome::Resolved => &mut all.resolved,
                    Outcome::Held => &mut all.held,
                    Outcome::Changed => &mut all.changed,
                };
                jobs.push(job.status);
            }
        }
        if writes {
            self.ledger.announce();
        }
        Ok(all)
    }

    /// Returns the next unknown jobs that match a filter.
    async fn unresolved(self, filter: &Filter, after: u64) -> Result<Vec<FoundJob>, Error> {
        let filter = filter.clone();
        self.ledger
            .transaction(move |database| {
                let (listed, values) = page(database, &filter, after, PAGE);
                find_jobs(database, &format!("j.state = 'unknown' AND {listed}"), values)
            })
            .await
    }

    async fn decide_page(
        self,
        jobs: &[FoundJob],
        step: &Step,
        writes: bool,
    ) -> Result<Vec<Outcome>, Error> {
        let submissions: Vec<_> = jobs.iter().map(|job| job.submission).collect();
        let step = step.clone();
        self.ledger
            .exclusive(move |database| {
                let submissions = submissions.iter();
                submissions.map(|of| decide(database, *of, &step, writes)).collect()
            })
            .await
    }
}

/// Decides about a submission that was unknown, or, unless `writes`, returns what the decision
/// would do. If the connection broke after the commit, the second run finds the decision of the
/// first one, and returns the same outcome.
fn decide(
    database: &mut Database,
    submission: Option<i64>,
    step: &Step,
    writes: bool,
) -> Result<Outcome, Error> {
    let lock = if writes { database.for_update("s") } else { String::new() };
    let found = SubmissionRow::find(database, &format!("s.id = $1{lock}"), [submission.into()])?;
    let mut found = found.into_iter().next().ok_or_else(no_row)?;
    if found.record.task().is_some() {
        return Ok(Outcome::Changed);
    }
    if *step == Step::NotBilled && found.hold_until > Some(database.now()) {
        return Ok(Outcome::Held);
    }
    if !writes {
        return Ok(Outcome::Resolved);
    }
    let is_written = found.try_advance(database, step)?;
    // Another person may have decided otherwise.
    let is_decided = match found.record.state() {
        State::NotBilled => *step == Step::NotBilled,
        State::Settled => *step == Step::Settled,
        _ => false,
    };
    Ok(if is_written && is_decided { Outcome::Resolved } else { Outcome::Changed })
}

#[cfg(test)]
mod tests {
    use imagekiln::journal::Intent;
    use serde_json::json;

    use super::*;
    use crate::{JobState, Ledger};

    /// Opens a ledger with this number of unknown jobs: 0, 1, and so on.
    async fn with_unknown(directory: &tempfile::TempDir, count: usize) -> Ledger {
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let add = move |database: &mut Database| {
            for number in 0..count {
                add_unknown(database, &number.to_string());
            }
            Ok(())
        };
        ledger.transaction(add).await.unwrap();
        ledger
    }

    fn add_unknown(database: &mut Database, name: &str) {
        let add = "INSERT INTO jobs (name, number, target, operation, request, request_sha256,
                pixels, state, added_at, changed_at)
            SELECT $1, COUNT(*) + 1, $1, 'gen-2-pro', '', '', 0, 'queued', 0, 0
            FROM jobs RETURNING id";
        let job: i64 = database.value(add, [name.into()]).unwrap();
        let intent = json!({"id": name, "operation": "gen-2-pro", "at": 1_795_673_076});
        let intent: Intent = serde_json::from_value(intent).unwrap();
        let submission = SubmissionRow::insert(database, &intent, Some(job), None, None).unwrap();
        let submit = "UPDATE jobs SET submission = $1, state = 'unknown' WHERE id = $2";
        database.execute(submit, [submission.id.into(), job.into()]).unwrap();
    }

    async fn state(ledger: &Ledger, name: &str) -> JobState {
        ledger.jobs().get(name).await.unwrap().unwrap().state
    }

    #[tokio::test]
    async fn what_became_of_a_job_in_the_meantime_stays() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = with_unknown(&directory, 3).await;
        let jobs = ledger.jobs().unresolved(&Filter::default(), 0).await.unwrap();
        let task = json!({"id": "1798fb82", "polling_url": "", "cost": 3.0});
        let accepted = Step::Accepted(serde_json::from_value(task).unwrap());
        let lost = ledger.lost("0").await.unwrap();
        ledger.decide(&lost, accepted).await.unwrap();
        ledger.jobs().resolve("1", Resolution::Paid).await.unwrap();
        // The second run stands for a transaction that runs again after its commit.
        for _ in 0..2 {
            let outcomes = ledger.jobs().decide_page(&jobs, &Step::NotBilled, true).await.unwrap();
            let expected = [Outcome::Changed, Outcome::Changed, Outcome::Resolved];
            assert_eq!(outcomes, expected);
        }
        assert_eq!(state(&ledger, "0").await, JobState::Submitted);
        assert_eq!(state(&ledger, "1").await, JobState::Failed);
        assert_eq!(state(&ledger, "2").await, JobState::Queued);
        let outcomes = ledger.jobs().decide_page(&jobs, &Step::Settled, true).await.unwrap();
        assert_eq!(outcomes, [Outcome::Changed, Outcome::Resolved, Outcome::Changed]);
    }

    #[tokio::test]
    async fn every_page_is_resolved() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = with_unknown(&directory, 2 * PAGE + 1).await;
        let preview =
            ledger.jobs().would_resolve(&Filter::default(), Resolution::NotPaid).await.unwrap();
        assert_eq!(preview.resolved.len(), 2 * PAGE + 1);
        let names = preview.resolved.iter().map(|job| &job.name).skip(1);
        let others = Filter::named(names.cloned());
        let done = ledger.jobs().resolve_all(&others, Resolution::NotPaid).await.unwrap();
        assert_eq!(done.resolved, preview.resolved[1..]);
        let queued = Filter::states([JobState::Queued]);
        assert_eq!(ledger.jobs().list(&queued).await.unwrap().len(), 2 * PAGE);
        assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    }
}
