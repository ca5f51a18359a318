//! Jobs that a person queues again, removes or lists.

use imagekiln_batch::{Filter, JobState, Prices};
use imagekiln_testbed::Trial;
use serde_json::Value;
use tokio::time;

use crate::support::{
    Backend, FAST, Fixture, PRICE, all, assert_equal, both, job, jobs, named, notifying, state,
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_failed_job_is_retried),
        both(only_jobs_that_ended_are_retried),
        both(a_job_is_forgotten_but_not_its_cost),
        both(a_claimed_job_can_be_forgotten),
        both(a_job_that_may_be_billed_is_not_forgotten),
        both(the_ledger_knows_requests_and_prices),
        both(jobs_are_listed_in_pages),
        both(jobs_that_match_are_retried_and_forgotten),
    ]
}

async fn a_failed_job_is_retried(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let mut batch = fixture.batch(&ledger).jobs([job("fox", "a fox [[error]]")]);
    for times in 1..=2 {
        assert_eq!(batch.run().await.unwrap().count(JobState::Failed), 1);
        assert_eq!(fixture.accepted(), times);
        assert_eq!(ledger.jobs().retry(&named("fox"), None).await.unwrap(), 1);
        let status = ledger.jobs().get("fox").await.unwrap().unwrap();
        assert_eq!((status.state, status.reason, status.task_id), (JobState::Queued, None, None));
    }
    // The budget counts both submissions.
    let report = batch.budget(2.5 * PRICE).run().await.unwrap();
    assert_eq!((report.count(JobState::Queued), fixture.accepted()), (1, 2));
}

async fn only_jobs_that_ended_are_retried(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    for name in ["0", "wolf"] {
        assert_eq!(ledger.jobs().retry(&named(name), None).await.unwrap(), 0);
    }
    assert_eq!(state(&ledger, "0").await, JobState::Saved);
}

async fn a_job_is_forgotten_but_not_its_cost(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let mut batch = fixture.batch(&ledger).budget(2.0 * PRICE).jobs([job("saved", "a fox")]);
    batch.run().await.unwrap();
    ledger.jobs().add(jobs(2)).await.unwrap();
    for name in ["saved", "0"] {
        assert_eq!(ledger.jobs().forget(&named(name)).await.unwrap(), 1);
        assert_eq!(ledger.jobs().get(name).await.unwrap(), None);
    }
    ledger.jobs().add([job("again", "another fox"), job("more", "more foxes")]).await.unwrap();
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), report.count(JobState::Queued)), (1, 2));
    assert_equal(fixture.charged(), 2.0 * PRICE);
    // The client does not resume what belonged to a job.
    let client = fixture.client().journal(ledger).build().unwrap();
    assert!(client.resume().await.unwrap().is_empty());
}

/// The worker has claimed both jobs, and submits the second one when the first one is saved.
async fn a_claimed_job_can_be_forgotten(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    time::resume();
    fixture.simulator.clock().set_speed(0.0);
    let batch = fixture.batch(&ledger).max_active(1).jobs(jobs(2));
    let (mut batch, is_active) = notifying(batch, JobState::Submitted);
    let (report, ()) = tokio::join!(batch.run(), async {
        is_active.notified().await;
        ledger.jobs().forget(&named("1")).await.unwrap();
        fixture.simulator.clock().set_speed(FAST);
    });
    assert_eq!((report.unwrap().count(JobState::Saved), fixture.accepted()), (1, 1));
    assert_eq!(
        fixture.count("SELECT COUNT(*) FROM imagekiln.workers").await,
        1,
        "no lease is lost"
    );
}

async fn a_job_that_may_be_billed_is_not_forgotten(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let lost = [job("lost", "a fox [[reply-lost]]"), job("missing", "a fox [[not-found]]")];
    fixture.batch(&ledger).jobs(lost).run().await.unwrap();
    for (name, expected) in [("lost", JobState::Unknown), ("missing", JobState::Submitted)] {
        assert_eq!(ledger.jobs().forget(&named(name)).await.unwrap(), 0);
        assert_eq!(state(&ledger, name).await, expected);
    }
}

async fn the_ledger_knows_requests_and_prices(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    assert_eq!(ledger.limits().prices().await.unwrap(), Prices::default());
    fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    assert_eq!(ledger.limits().prices().await.unwrap().of("gen-2-pro"), Some(PRICE.into()));
    let request = ledger.jobs().request("0").await.unwrap().unwrap();
    assert!(request.to_json().unwrap().contains("fox 0"));
    assert!(ledger.jobs().request("wolf").await.unwrap().is_none());
}

async fn jobs_are_listed_in_pages(backend: Backend) {
    let ledger = Fixture::new(backend).await.ledger().await;
    ledger.jobs().add(jobs(5)).await.unwrap();
    ledger.jobs().forget(&named("1")).await.unwrap();
    let names = async |states: &[JobState], after, limit| {
        let filter = Filter::states(states.iter().copied());
        let listed = ledger.jobs().page(&filter, after, limit).await.unwrap();
        listed.into_iter().map(|job| job.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&[JobState::Unknown, JobState::Queued], 0, 2).await, ["0", "2"]);
    assert_eq!(names(&[JobState::Queued], 3, 100).await, ["3", "4"]);
    assert!(names(&[JobState::Saved], 0, 100).await.is_empty());
    assert!(names(&[], 0, 100).await.is_empty());
    let first = ledger.jobs().page(&Filter::default(), 0, 1).await.unwrap().remove(0);
    let json = serde_json::to_value(&first).unwrap();
    assert_eq!((&json["name"], &json["state"]), (&"0".into(), &"queued".into()));
    assert_eq!((&json["added_at"], &json["ready_at"]), (&json["changed_at"], &Value::Null));
    let added = json["added_at"].as_str().unwrap();
    assert!(added.len() == 20 && added.ends_with('Z'), "{added}");
}

async fn jobs_that_match_are_retried_and_forgotten(backend: Backend) {
    /// More than a transaction changes.
    const MANY: u64 = 1_100;
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let failing = ["fox", "wolf"].map(|name| job(name, "a fox [[error]]").group("anna"));
    let mut batch = fixture.batch(&ledger).jobs(failing);
    batch.run().await.unwrap();
    // The wolf fails twice.
    ledger.jobs().retry(&named("wolf"), None).await.unwrap();
    batch.run().await.unwrap();
    ledger.jobs().add(jobs(MANY as usize)).await.unwrap();
    assert_eq!(ledger.jobs().cancel(&Filter::default()).await.unwrap(), MANY);

    let anna = Filter { group: Some("anna".to_owned()), ..Filter::default() };
    assert_eq!(ledger.jobs().retry(&anna, Some(2)).await.unwrap(), 1);
    assert_eq!(state(&ledger, "fox").await, JobState::Queued);
    assert_eq!(state(&ledger, "wolf").await, JobState::Failed);
    let cancelled = Filter::states([JobState::Cancelled]);
    assert_eq!(ledger.jobs().retry(&cancelled, None).await.unwrap(), MANY);
    assert_eq!(ledger.jobs().retry(&cancelled, None).await.unwrap(), 0);

    assert_eq!(ledger.jobs().forget(&anna).await.unwrap(), 2);
    assert_eq!(ledger.jobs().forget(&Filter::default()).await.unwrap(), MANY);
    assert_eq!(all(&ledger).await, []);
    // The three submissions still count.
    let spending = ledger.reports().spending().await.unwrap();
    assert_eq!(spending.iter().map(|row| row.submissions).sum::<u64>(), 3);
}
