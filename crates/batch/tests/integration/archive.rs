//! Jobs that ended leave the ledger.

use std::time::Duration;

use imagekiln_batch::{ErrorKind, Filter, Job, JobState};
use imagekiln_testbed::Trial;
use sqlx_core::{connection::Connection as _, executor::Executor as _};
use sqlx_postgres::PgConnection;
use tokio::time;

use crate::support::{Backend, Fixture, all, assert_equal, both, job, postgres, state};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_job_that_left_the_ledger_is_not_paid_again),
        both(jobs_leave_the_ledger_while_a_batch_runs),
        postgres(a_job_that_is_retried_at_the_moment_does_not_leave),
    ]
}

async fn a_job_that_left_the_ledger_is_not_paid_again(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let jobs = [job("good", "a fox"), job("bad", "a [[content-moderated]] fox")];
    let run = async || fixture.batch(&ledger).jobs(jobs.clone()).run().await.unwrap();
    let before = run().await;
    assert_eq!((before.count(JobState::Saved), before.count(JobState::Moderated)), (1, 1));
    ledger.jobs().add([job("later", "a wolf")]).await.unwrap();
    assert_eq!(ledger.jobs().archive(Duration::from_secs(3600)).await.unwrap(), 0);
    assert_eq!(ledger.jobs().archive(Duration::ZERO).await.unwrap(), 2);
    let left: Vec<_> = all(&ledger).await.into_iter().map(|job| job.name).collect();
    assert_eq!(left, ["later"]);
    ledger.jobs().cancel(&Filter::default()).await.unwrap();
    // The next process adds the same jobs.
    let ledger = fixture.reopen(ledger).await;
    let report = fixture.batch(&ledger).jobs(jobs.clone()).run().await.unwrap();
    assert_eq!(report.rows.len(), 1, "{report}");
    assert_eq!(fixture.accepted(), 2);
    let error = ledger.jobs().add([job("good", "another fox")]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Job);
    let spending = ledger.reports().spending().await.unwrap();
    assert_equal(spending.iter().map(|row| row.credits).sum(), fixture.charged());
    assert_eq!(all(&ledger).await[0].number, 3);
}

/// Another process has changed the job, and has not committed that yet.
async fn a_job_that_is_retried_at_the_moment_does_not_leave() {
    let (fixture, ledger) = Fixture::with_ledger(Backend::Postgres).await;
    let bad = [job("bad", "a [[content-moderated]] fox")];
    fixture.batch(&ledger).jobs(bad).run().await.unwrap();
    let mut other = PgConnection::connect(&fixture.ledger_name()).await.unwrap();
    let mut retry = other.begin().await.unwrap();
    let queue = "UPDATE imagekiln.jobs SET state = 'queued', submission = NULL, reason = NULL";
    retry.execute(queue).await.unwrap();
    let archived =
        time::timeout(Duration::from_secs(30), ledger.jobs().archive(Duration::ZERO)).await;
    assert_eq!(archived.expect("it waits for the other process").unwrap(), 0);
    retry.commit().await.unwrap();
    assert_eq!(state(&ledger, "bad").await, JobState::Queued);
}

async fn jobs_leave_the_ledger_while_a_batch_runs(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let run = async |jobs: [Job; 1], age: Duration| {
        fixture.batch(&ledger).jobs(jobs).archive_after(age).run().await.unwrap();
        all(&ledger).await.into_iter().map(|job| job.name).collect::<Vec<_>>()
    };
    assert_eq!(run([job("one", "a fox")], Duration::from_secs(3600)).await, ["one"]);
    let left = run([job("two", "a wolf")], Duration::ZERO).await;
    assert!(!left.contains(&"one".to_owned()), "{left:?}");
    ledger.jobs().add([job("three", "an owl")]).await.unwrap();
    let known = ledger.jobs().known().await.unwrap();
    let of = |name| known.get(name).map(|job| (job.number, job.state));
    let (saved, queued) = (JobState::Saved, JobState::Queued);
    assert_eq!(["one", "two", "three"].map(of), [(1, saved), (2, saved), (3, queued)].map(Some));
    assert_eq!(known.len(), 3);
}
