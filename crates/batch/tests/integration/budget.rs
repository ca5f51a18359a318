//! The budget.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use imagekiln::{
    Request, Submit as _, TaskRef,
    journal::{Intent, Journal as _, Step},
    types::Gen2Pro,
};
use imagekiln_batch::{ErrorKind, JobState, Ledger, Price, Resolution, Scope};
use imagekiln_testbed::Trial;
use serde_json::{Value, from_value, json};

use crate::support::{
    Backend, Fixture, PRICE, all, assert_equal, both, chain, flex, job, jobs, named, state,
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(submissions_stop_before_the_budget_is_exceeded),
        both(the_first_job_of_an_operation_is_submitted_alone),
        both(an_unknown_job_counts_at_the_highest_known_price),
        both(a_budget_of_nothing_submits_nothing),
        both(a_negative_cost_counts_like_a_missing_one),
        both(enormous_costs_are_counted_and_printed),
        both(a_run_refuses_a_budget_that_is_not_an_amount),
        both(a_price_of_the_ledger_holds_until_a_cost_is_known),
        both(the_second_of_two_first_submissions_waits_for_the_price),
        both(a_retry_is_bounded_by_the_number_of_submissions),
    ]
}

/// A request of an operation whose submissions the tests count.
fn fox() -> Request {
    Gen2Pro::new("a fox").width(64).height(64).into_request()
}

async fn unknown_job(ledger: &Ledger) -> String {
    let jobs = all(ledger).await;
    jobs.into_iter().find(|job| job.state == JobState::Unknown).unwrap().name
}

async fn submissions_stop_before_the_budget_is_exceeded(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let mut batch = fixture.batch(&ledger).jobs(jobs(10)).max_active(8).budget(4.5 * PRICE);
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), report.count(JobState::Queued)), (4, 6));
    assert_equal(report.credits(), fixture.charged());
    for job in all(&ledger).await {
        let reason = job.reason.unwrap_or_default();
        let is_held = reason.starts_with("the budget of the ledger is used up");
        assert_eq!(is_held, job.state == JobState::Queued, "{} {reason}", job.name);
    }
    // The budget is that of the ledger, not of the run.
    assert_eq!(batch.run().await.unwrap(), report);
    let report = batch.budget(7.0 * PRICE).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (7, 7));
}

async fn the_first_job_of_an_operation_is_submitted_alone(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    // Its response never arrives, so the price stays unknown.
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let mut batch = fixture.batch(&ledger).jobs(jobs(5)).budget(100.0);
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Unknown), report.count(JobState::Queued)), (1, 4));
    let mut batch = batch.jobs((0..5).map(flex));
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), report.count(JobState::Queued)), (5, 4));
    ledger.jobs().resolve(&unknown_job(&ledger).await, Resolution::Paid).await.unwrap();
    assert_eq!(batch.run().await.unwrap().count(JobState::Saved), 9);
    assert_eq!(fixture.accepted(), 10);
}

async fn an_unknown_job_counts_at_the_highest_known_price(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let budget = 3.0 * PRICE;
    let first = jobs(2).into_iter().take(1);
    fixture.batch(&ledger).jobs(first).budget(budget).run().await.unwrap();
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let ledger = fixture.reopen(ledger).await;
    let report = fixture.batch(&ledger).jobs(jobs(5)).budget(budget).run().await.unwrap();
    assert_eq!((report.count(JobState::Unknown), report.count(JobState::Saved)), (1, 2));
    assert_equal(fixture.charged(), budget);
    ledger.jobs().resolve(&unknown_job(&ledger).await, Resolution::NotPaid).await.unwrap();
    let ledger = fixture.reopen(ledger).await;
    let report = fixture.batch(&ledger).budget(budget).run().await.unwrap();
    assert_eq!(report.count(JobState::Saved), 3);
}

/// Not even the first job, whose price is unknown.
async fn a_budget_of_nothing_submits_nothing(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let report = fixture.batch(&ledger).jobs(jobs(3)).budget(0.0).run().await.unwrap();
    assert_eq!((report.count(JobState::Queued), fixture.accepted()), (3, 0));
}

/// Records a submission whose response reports this cost.
async fn submitted(ledger: &Ledger, id: &str, cost: Value) {
    let intent = json!({ "id": id, "operation": "gen-2-pro", "at": 1_795_673_076 });
    let task = json!({ "id": id, "polling_url": "http://localhost/poll", "cost": cost });
    let [intent, task] = [intent, task];
    let intent: Intent = from_value(intent).unwrap();
    let task: TaskRef = from_value(task).unwrap();
    ledger.intend(&intent).await.unwrap();
    ledger.advance(intent.id(), &Step::Accepted(task)).await.unwrap();
}

async fn a_negative_cost_counts_like_a_missing_one(backend: Backend) {
    let (_fixture, ledger) = Fixture::with_ledger(backend).await;
    submitted(&ledger, "a", json!(3)).await;
    submitted(&ledger, "b", json!(-400)).await;
    ledger.limits().set_budget(Scope::Ledger, Some(8.5)).await.unwrap();
    let limits = ledger.limits().list().await.unwrap();
    assert_eq!((limits[0].credits, limits[0].without_cost), (3.0, 1));
    let refusal = ledger.limits().refusal(&fox(), None).await.unwrap().unwrap();
    assert_eq!(refusal.kind(), ErrorKind::Budget);
    assert!(refusal.to_string().contains("6.00 of 8.50 credits"), "{refusal}");
}

async fn enormous_costs_are_counted_and_printed(backend: Backend) {
    let (_fixture, ledger) = Fixture::with_ledger(backend).await;
    for id in ["a", "b", "c"] {
        submitted(&ledger, id, json!(1e308)).await;
    }
    ledger.limits().set_budget(Scope::Ledger, Some(1e15)).await.unwrap();
    let refusal = ledger.limits().refusal(&fox(), None).await.unwrap().unwrap().to_string();
    assert!(refusal.contains("of 1e15 credits") && refusal.len() < 200, "{refusal}");
    let metrics = ledger.reports().metrics().await.unwrap();
    assert!(metrics.lines().all(|line| line.len() < 100), "{metrics}");
}

async fn a_run_refuses_a_budget_that_is_not_an_amount(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    for credits in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let batch = || fixture.batch(&ledger).jobs(jobs(1));
        for mut batch in [batch().budget(credits), batch().budget(100.0).price(credits)] {
            assert_eq!(batch.run().await.unwrap_err().kind(), ErrorKind::State, "{credits}");
        }
        for price in [credits.into(), Price { credits: 1.0, per_megapixel: credits }] {
            let error = ledger.limits().set_price("gen-2-pro", Some(price)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::State);
        }
        let error = ledger.limits().set_budget(Scope::Ledger, Some(credits)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::State);
    }
    assert_eq!(fixture.accepted(), 0);
}

async fn a_price_of_the_ledger_holds_until_a_cost_is_known(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.limits().set_price("gen-2-pro", Some(4.0.into())).await.unwrap();
    ledger.limits().set_budget(Scope::Ledger, Some(3.5)).await.unwrap();
    // For submissions without a job, too.
    let client = fixture.client().journal(ledger.clone()).build().unwrap();
    let error = client.submit(fox()).await.unwrap_err();
    assert!(chain(&error).contains("the submission may cost 4.00"), "{}", chain(&error));
    let report = fixture.batch(&ledger).jobs(jobs(1)).run().await.unwrap();
    assert_eq!((report.count(JobState::Queued), fixture.accepted()), (1, 0));

    ledger.limits().set_budget(Scope::Ledger, Some(2.5 * PRICE)).await.unwrap();
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!(report.count(JobState::Saved), 1);
    // The known cost replaces the price, which would not fit.
    assert_eq!(ledger.limits().prices().await.unwrap().of("gen-2-pro"), Some(PRICE.into()));
    let _task = client.submit(fox()).await.unwrap();
    assert_eq!(fixture.accepted(), 2);

    ledger.limits().set_price("gen-2-flex", Some(5.0.into())).await.unwrap();
    ledger.limits().set_price("gen-2-flex", None).await.unwrap();
    assert_eq!(ledger.limits().prices().await.unwrap().of("gen-2-flex"), None);
}

async fn the_second_of_two_first_submissions_waits_for_the_price(backend: Backend) {
    let (_fixture, ledger) = Fixture::with_ledger(backend).await;
    ledger.limits().set_budget(Scope::Ledger, Some(100.0)).await.unwrap();
    let intent = json!({ "id": "a", "operation": "gen-2-pro", "at": 1_795_673_076 });
    let intent: Intent = from_value(intent).unwrap();
    ledger.intend(&intent).await.unwrap();
    let refusal = ledger.limits().refusal(&fox(), None).await.unwrap().unwrap();
    assert_eq!(refusal.kind(), ErrorKind::Budget);
    assert!(refusal.to_string().contains("is not known before the service has"), "{refusal}");
    ledger.limits().set_price("gen-2-pro", Some(4.0.into())).await.unwrap();
    assert!(ledger.limits().refusal(&fox(), None).await.unwrap().is_none());
}

async fn a_retry_is_bounded_by_the_number_of_submissions(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let count =
        async |ledger: &Ledger| ledger.jobs().get("fox").await.unwrap().unwrap().submissions;
    ledger.jobs().add([job("fox", "a fox [[error]]")]).await.unwrap();
    assert_eq!(count(&ledger).await, 0);
    // A submission that was certainly not billed does not count.
    fixture.simulator.faults().add("rate-limited@submission=1:once").unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let last = seen.clone();
    let mut batch = fixture.batch(&ledger).on_change(move |job| {
        last.store(job.submissions, Ordering::Relaxed);
    });
    batch.run().await.unwrap();
    drop(batch);
    assert_eq!((count(&ledger).await, seen.load(Ordering::Relaxed)), (1, 1));
    let fox = named("fox");
    assert_eq!(ledger.jobs().retry(&fox, Some(2)).await.unwrap(), 1);
    let ledger = fixture.reopen(ledger).await;
    fixture.batch(&ledger).run().await.unwrap();
    assert_eq!(count(&ledger).await, 2);
    assert_eq!(ledger.jobs().retry(&fox, Some(2)).await.unwrap(), 0);
    assert_eq!(state(&ledger, "fox").await, JobState::Failed);
    assert_eq!(fixture.accepted(), 2);
}
