//! Webhooks of jobs, each with its own token.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::Router;
use imagekiln::webhook::{Event, Verifier};
use imagekiln_batch::{Batch, ErrorKind, JobState, JobStatus, Ledger, Resolution};
use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;
use tokio::{net::TcpListener, sync::Notify, time};

use crate::support::{
    Backend, FAST, Fixture, PRICE, all, assert_equal, both, is_picture, job, jobs, named,
    notifying, reason, state, token,
};

const SECRET: &str = "a webhook secret of the tests";

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_lost_response_is_found_by_its_webhook),
        both(a_run_waits_for_webhooks_of_unknown_jobs),
        both(a_run_waits_no_longer_than_its_patience),
        both(a_webhook_finds_a_job_that_waits_for_its_submission),
        both(a_response_completes_what_its_webhook_found),
        both(a_webhook_ends_a_job_whose_task_failed),
        both(bad_webhooks_change_nothing),
        both(an_event_cannot_claim_the_task_of_another_job),
    ]
}

fn verifier() -> Verifier {
    Verifier::hmac_sha256(SECRET).header("x-webhook-signature")
}

/// A batch that receives webhooks.
async fn receiving_batch(fixture: &Fixture, ledger: &Ledger) -> Batch {
    let batch = fixture.batch_of(fixture.client().webhook_secret(SECRET), ledger);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hooks", listener.local_addr().unwrap());
    let app = Router::new().nest("/hooks", batch.callbacks().router(verifier()));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    batch.callback_url(url)
}

/// Makes a batch run until so many jobs are saved, and call this function with each change.
fn until_saved(
    batch: Batch,
    count: usize,
    call: impl Fn(&JobStatus) + Send + Sync + 'static,
) -> Batch {
    let all_saved = Arc::new(Notify::new());
    let (is_saved, left) = (Arc::clone(&all_saved), std::sync::Mutex::new(count));
    let on_change = move |job: &JobStatus| {
        call(job);
        let mut left = left.lock().unwrap();
        *left -= usize::from(job.state == JobState::Saved);
        if *left == 0 {
            is_saved.notify_one();
        }
    };
    batch.wait_for_jobs().on_change(on_change).stop_when(async move { all_saved.notified().await })
}

async fn a_lost_response_is_found_by_its_webhook(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let jobs = [
        job("reset", "a fox [[reply-lost]]"),
        job("error", "a fox [[error-after]]"),
        job("late", "a fox [[reply-lost]] [[webhook-late=300]]"),
        job("forged", "a fox [[reply-lost]] [[webhook-forged]] [[webhook-duplicate]]"),
        job("fine", "a fox"),
    ];
    let unknown = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&unknown);
    let count = move |job: &JobStatus| {
        counted.fetch_add(usize::from(job.state == JobState::Unknown), Ordering::Relaxed);
    };
    let mut batch = until_saved(receiving_batch(&fixture, &ledger).await, 5, count).jobs(jobs);
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (5, 5));
    assert_eq!(unknown.load(Ordering::Relaxed), 4);
    for job in all(&ledger).await {
        assert!(is_picture(job.location.unwrap()));
    }
}

async fn a_run_waits_for_webhooks_of_unknown_jobs(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let late = job("late", "a fox [[reply-lost]] [[webhook-late=30]]");
    let jobs = [job("soon", "a fox [[reply-lost]]"), late];
    let mut batch = receiving_batch(&fixture, &ledger).await.jobs(jobs);
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (2, 2));
}

async fn a_run_waits_no_longer_than_its_patience(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let lost = job("lost", "a fox [[reply-lost]] [[webhook-late=3600]]");
    let batch = receiving_batch(&fixture, &ledger).await.jobs([lost]);
    let report = batch.callback_patience(Duration::from_millis(1)).run().await.unwrap();
    assert_eq!(report.count(JobState::Unknown), 1);
}

/// Returns the token in the webhook URL of the only task, and an event about it.
pub fn delivery(fixture: &Fixture) -> (String, Event) {
    let [task] = fixture.simulator.tasks().try_into().unwrap();
    (token(&task).to_owned(), event(&task.id))
}

/// A batch whose only job is unknown, although the service accepted it.
pub async fn with_lost_job(fixture: &Fixture, ledger: &Ledger) -> Batch {
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let batch = fixture.batch(ledger).callback_url("http://127.0.0.1:9/hooks");
    let mut batch = batch.jobs(jobs(1));
    batch.run().await.unwrap();
    batch
}

/// A worker has claimed the job, and waits for a slot.
async fn a_webhook_finds_a_job_that_waits_for_its_submission(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let taken = fixture.output().join("first.jpg");
    fs::create_dir_all(fixture.output()).unwrap();
    fs::write(&taken, "").unwrap();
    let both = [job("first", "a fox"), job("lost", "a lost fox [[reply-lost]]")];
    let mut batch = fixture.batch(&ledger).callback_url("http://127.0.0.1:9/hooks").jobs(both);
    batch.run().await.unwrap();
    fs::remove_file(taken).unwrap();
    ledger.jobs().retry(&named("first"), None).await.unwrap();
    ledger.jobs().resolve("lost", Resolution::NotPaid).await.unwrap();
    let (token, event) = delivery(&fixture);
    // The first job is active until the webhook was handled.
    time::resume();
    fixture.simulator.clock().set_speed(0.0);
    let callbacks = batch.callbacks();
    let (mut batch, is_active) = notifying(batch.max_active(1), JobState::Submitted);
    let (report, ()) = tokio::join!(batch.run(), async {
        is_active.notified().await;
        callbacks.receive(&token, &event).await.unwrap();
        fixture.simulator.clock().set_speed(FAST);
    });
    assert_eq!((report.unwrap().count(JobState::Saved), fixture.accepted()), (2, 2));
    assert_eq!(
        fixture.count("SELECT COUNT(*) FROM imagekiln.workers").await,
        2,
        "no lease is lost"
    );
}

async fn a_response_completes_what_its_webhook_found(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    // The webhook arrives after a second.
    let slow = job("slow", "a fox [[slow-headers=9]]");
    let mut batch = until_saved(receiving_batch(&fixture, &ledger).await, 1, |_| {}).jobs([slow]);
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1));
    assert_equal(report.credits(), PRICE);
}

/// A webhook of the task with this id, as the service signs it.
pub fn event(id: &str) -> Event {
    let body = format!(r#"{{"id":"{id}","status":"Error"}}"#);
    let mut headers = axum::http::HeaderMap::new();
    headers.insert("x-secret", SECRET.parse().unwrap());
    Verifier::shared_secret(SECRET).header("x-secret").verify(&headers, body.as_bytes()).unwrap()
}

/// No run works on the job.
async fn a_webhook_ends_a_job_whose_task_failed(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let batch = fixture.batch(&ledger).callback_url("http://127.0.0.1:9/hooks");
    let mut batch = batch.jobs([job("lost", "a fox [[reply-lost]] [[error]]")]);
    batch.run().await.unwrap();
    let (token, event) = delivery(&fixture);
    time::sleep(Duration::from_secs(60)).await;
    for expected in [JobState::Submitted, JobState::Failed, JobState::Failed] {
        batch.callbacks().receive(&token, &event).await.unwrap();
        assert_eq!(state(&ledger, "lost").await, expected);
    }
    assert_eq!(reason(&ledger, "lost").await, "the task ended with status `Error`");
    ledger.jobs().forget(&named("lost")).await.unwrap();
}

async fn bad_webhooks_change_nothing(backend: Backend) {
    let config = Config { ready_after: Duration::from_secs(5), ..Config::default() };
    let fixture = Fixture::with(backend, config).await;
    let ledger = fixture.ledger().await;
    let callbacks = with_lost_job(&fixture, &ledger).await.callbacks();
    let [task] = fixture.simulator.tasks().try_into().unwrap();
    let token = token(&task);
    assert_eq!(token.len(), 32);
    let error = callbacks.receive("0123", &event(&task.id)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    let error = callbacks.receive(token, &event("00000000-0000")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Client);
    assert_eq!(state(&ledger, "0").await, JobState::Unknown);
    // The event claims that the task failed. It did not.
    callbacks.receive(token, &event(&task.id)).await.unwrap();
    assert_eq!(state(&ledger, "0").await, JobState::Submitted);
    callbacks.receive(token, &event(&task.id)).await.unwrap();
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.count(JobState::Saved), fixture.accepted()), (1, 1));
}

async fn an_event_cannot_claim_the_task_of_another_job(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let mut batch = fixture.batch(&ledger).callback_url("http://127.0.0.1:9/hooks").jobs(jobs(1));
    batch.run().await.unwrap();
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let mut batch = batch.jobs([job("lost", "a lost fox")]);
    batch.run().await.unwrap();
    let tasks = fixture.simulator.tasks();
    let of = |prompt: &str| tasks.iter().find(|task| task.request["prompt"] == prompt).unwrap();
    let token = token(of("a lost fox"));
    let error = batch.callbacks().receive(token, &event(&of("fox 0").id)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert_eq!(state(&ledger, "lost").await, JobState::Unknown);
}
