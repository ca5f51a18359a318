//! Decisions about many unknown jobs at once.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use imagekiln::types::Gen2Flex;
use imagekiln_batch::{ErrorKind, Filter, Job, JobState, JobStatus, Ledger, Resolution};
use imagekiln_testbed::Trial;

use crate::{
    support::{Backend, Fixture, all, both, job, jobs, state},
    webhooks::{delivery, with_lost_job},
};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(unknown_jobs_are_resolved_by_filter),
        both(a_job_that_is_not_paid_is_submitted_once_more),
        both(a_submission_that_may_still_be_sent_is_left_out),
        both(a_webhook_counts_more_than_a_decision),
        both(the_time_of_a_submission_is_known),
    ]
}

/// A ledger with these jobs, whose responses were lost.
async fn with_unknown(fixture: &Fixture, jobs: Vec<Job>) -> Ledger {
    let (ledger, count) = (fixture.ledger().await, jobs.len() as u64);
    fixture.simulator.faults().add(&format!("reply-lost@submission:{count}x")).unwrap();
    let report = fixture.batch(&ledger).jobs(jobs).run().await.unwrap();
    assert_eq!(report.count(JobState::Unknown), count);
    fixture.reopen(ledger).await
}

fn names(jobs: &[JobStatus]) -> Vec<&str> {
    jobs.iter().map(|job| job.name.as_str()).collect()
}

fn at(milliseconds: u64) -> Option<SystemTime> {
    Some(UNIX_EPOCH + Duration::from_millis(milliseconds))
}

async fn unknown_jobs_are_resolved_by_filter(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let flex = Job::new("flex", "flex.jpg", Gen2Flex::new("a fox").width(64).height(64));
    let anna = job("anna", "a fox").group("anna");
    let unknown = vec![job("first", "a fox"), anna, flex, job("last", "a fox")];
    let ledger = with_unknown(&fixture, unknown).await;
    ledger.jobs().add([job("queued", "a fox")]).await.unwrap();
    for (number, name) in ["first", "anna", "flex", "last"].iter().enumerate() {
        let of_job = format!("(SELECT submission FROM imagekiln.jobs WHERE name = '{name}')");
        let set = "UPDATE imagekiln.submissions SET sent_at";
        fixture.execute(&format!("{set} = {} WHERE id = {of_job}", 1000 * number)).await;
    }
    let text = |text: &str| Some(text.to_owned());
    let (group, flex, pro) = (text("anna"), text("gen-2-flex"), text("gen-2-pro"));
    for (filter, expected) in [
        (Filter::default(), &["first", "anna", "flex", "last"][..]),
        (Filter { group, ..Filter::default() }, &["anna"]),
        (Filter { operation: flex, ..Filter::default() }, &["flex"]),
        (
            Filter { sent_after: at(1000), sent_before: at(3000), ..Filter::default() },
            &["anna", "flex"],
        ),
        (Filter { sent_before: at(1), operation: pro, ..Filter::default() }, &["first"]),
        (Filter::named(["last", "queued", "nobody"]), &["last"]),
        (Filter::named([""; 0]), &[]),
        (Filter::states([JobState::Queued]), &[]),
    ] {
        let preview = ledger.jobs().would_resolve(&filter, Resolution::Paid).await.unwrap();
        assert_eq!(names(&preview.resolved), expected, "{filter:?}");
    }
    let early = Filter { sent_before: at(2000), ..Filter::default() };
    let done = ledger.jobs().resolve_all(&early, Resolution::Paid).await.unwrap();
    assert_eq!(names(&done.resolved), ["first", "anna"]);
    assert_eq!((done.held, done.changed), (vec![], vec![]));
    let states = all(&ledger).await.into_iter().map(|job| job.state);
    let (failed, unknown) = (JobState::Failed, JobState::Unknown);
    let expected = [failed, failed, unknown, unknown, JobState::Queued];
    assert_eq!(states.collect::<Vec<_>>(), expected);
    let error =
        ledger.jobs().resolve_all(&Filter::default(), Resolution::Damaged).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
}

async fn a_job_that_is_not_paid_is_submitted_once_more(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = with_unknown(&fixture, jobs(3)).await;
    let two = Filter::named(["0", "1"]);
    for expected in [2, 0] {
        let done = ledger.jobs().resolve_all(&two, Resolution::NotPaid).await.unwrap();
        assert_eq!((done.resolved.len(), done.changed.len()), (expected, 0));
    }
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), report.count(JobState::Unknown)), (2, 1));
    assert_eq!(fixture.accepted(), 5);
    // Jobs are found by the ids of their tasks, too.
    let task = ledger.jobs().get("1").await.unwrap().unwrap().task_id.unwrap();
    let by_task = Filter::named([task.clone()]);
    let found = ledger.jobs().page(&by_task, 0, 10).await.unwrap();
    assert_eq!(names(&found), ["1"]);
    // Who chooses the name of a job selects no other job with it.
    ledger.jobs().add([job(&task, "a fox")]).await.unwrap();
    ledger.jobs().cancel(&by_task).await.unwrap();
    assert_eq!(ledger.jobs().forget(&by_task).await.unwrap(), 1);
    assert_eq!(state(&ledger, "1").await, JobState::Saved);
}

async fn a_submission_that_may_still_be_sent_is_left_out(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = with_unknown(&fixture, jobs(2)).await;
    let of_job = "(SELECT submission FROM imagekiln.jobs WHERE name = '0')";
    let hold = "UPDATE imagekiln.submissions SET hold_until = 9000000000000";
    fixture.execute(&format!("{hold} WHERE id = {of_job}")).await;
    let every = Filter::default();
    let preview = ledger.jobs().would_resolve(&every, Resolution::NotPaid).await.unwrap();
    assert_eq!((names(&preview.resolved), names(&preview.held)), (vec!["1"], vec!["0"]));
    assert_eq!(ledger.jobs().resolve_all(&every, Resolution::NotPaid).await.unwrap(), preview);
    assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    // Nothing is sent after this decision.
    let paid = ledger.jobs().resolve_all(&every, Resolution::Paid).await.unwrap();
    assert_eq!(names(&paid.resolved), ["0"]);
}

async fn a_webhook_counts_more_than_a_decision(backend: Backend) {
    for resolution in [Resolution::NotPaid, Resolution::Paid] {
        let (fixture, ledger) = Fixture::with_ledger(backend).await;
        let mut batch = with_lost_job(&fixture, &ledger).await;
        let (token, event) = delivery(&fixture);
        let (every, callbacks) = (Filter::default(), batch.callbacks());
        let manager = fixture.another(&ledger).await;
        let (resolved, received) = tokio::join!(
            manager.jobs().resolve_all(&every, resolution),
            callbacks.receive(&token, &event)
        );
        let resolved = resolved.unwrap();
        assert!(resolved.resolved.len() + resolved.changed.len() <= 1);
        received.unwrap();
        assert_eq!(state(&ledger, "0").await, JobState::Submitted);
        let report = batch.run().await.unwrap();
        assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1));
    }
}

async fn the_time_of_a_submission_is_known(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = with_unknown(&fixture, jobs(1)).await;
    ledger.jobs().add([job("queued", "a fox")]).await.unwrap();
    fixture.execute("UPDATE imagekiln.submissions SET sent_at = 1738310709000").await;
    let listed = ledger.jobs().page_with_requests(&Filter::default(), 0, 10).await.unwrap();
    let [(lost, request), (queued, _)] = listed.try_into().unwrap();
    assert_eq!(request.text("prompt"), Some("fox 0"));
    let json = serde_json::to_value(&lost).unwrap();
    assert_eq!(json["sent_at"], "2025-01-31T08:05:09Z");
    assert_eq!((queued.sent_at, lost.submitted_at), (None, None));
    let times = std::sync::Arc::<std::sync::Mutex<Vec<_>>>::default();
    let seen = std::sync::Arc::clone(&times);
    let note = move |job: &JobStatus| seen.lock().unwrap().push(job.sent_at);
    fixture.batch(&ledger).on_change(note).run().await.unwrap();
    assert!(times.lock().unwrap().iter().all(Option::is_some));
}
