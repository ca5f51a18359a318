//! Webhooks of jobs, each with a token of its own.

use std::{sync::Arc, time::Duration};

use axum::Router;
use imagekiln::webhook::{Event, Verifier};
use imagekiln_batch::{Batch, ErrorKind, JobStatus, Ledger, State};
use imagekiln_simulator::Config;
use imagekiln_testbed::Trial;
use tokio::{net::TcpListener, sync::Notify};

use crate::support::{Backend, Fixture, PRICE, assert_equal, both, is_picture, job, jobs, state};

const SECRET: &str = "a webhook secret of the tests";

pub fn tests() -> Vec<Trial> {
    let tests = [
        both(a_lost_response_is_found_by_its_webhook),
        both(a_response_completes_what_its_webhook_found),
        both(bad_webhooks_change_nothing),
        both(an_event_cannot_claim_the_task_of_another_job),
    ];
    tests.into_iter().flatten().collect()
}

fn verifier() -> Verifier {
    Verifier::hmac_sha256(SECRET).header("x-webhook-signature")
}

/// A batch that receives webhooks, and waits until all of its jobs are saved.
async fn receiving_batch(fixture: &Fixture, ledger: &Ledger, count: usize) -> Batch {
    let client = fixture.client().webhook_secret(SECRET);
    let batch = Batch::open(client, ledger.clone()).unwrap().save_to(fixture.output());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hooks", listener.local_addr().unwrap());
    let app = Router::new().nest("/hooks", batch.callbacks().router(verifier()));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let all_saved = Arc::new(Notify::new());
    let (is_saved, left) = (Arc::clone(&all_saved), std::sync::Mutex::new(count));
    let on_change = move |job: &JobStatus| {
        let mut left = left.lock().unwrap();
        *left -= usize::from(job.state == State::Saved);
        if *left == 0 {
            is_saved.notify_one();
        }
    };
    batch
        .callback_url(url)
        .wait_for_jobs()
        .on_change(on_change)
        .stop_when(async move { all_saved.notified().await })
}

async fn a_lost_response_is_found_by_its_webhook(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = fixture.ledger().await;
    let jobs = [
        job("reset", "a fox [[reply-lost]]"),
        job("error", "a fox [[error-after]]"),
        job("late", "a fox [[reply-lost]] [[webhook-late=300]]"),
        job("forged", "a fox [[reply-lost]] [[webhook-forged]] [[webhook-duplicate]]"),
        job("fine", "a fox"),
    ];
    let mut batch = receiving_batch(&fixture, &ledger, 5).await.jobs(jobs);
    let mut events = batch.events();
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(State::Saved), fixture.accepted()), (5, 5));
    drop(batch);
    let mut unknown = 0;
    while let Some(event) = events.next().await {
        unknown += usize::from(event.state == State::Unknown);
    }
    assert_eq!(unknown, 4);
    for job in ledger.jobs().await.unwrap() {
        assert!(is_picture(job.location.unwrap()));
    }
}

async fn a_response_completes_what_its_webhook_found(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = fixture.ledger().await;
    // The webhook arrives after a second.
    let slow = job("slow", "a fox [[slow-headers=9]]");
    let mut batch = receiving_batch(&fixture, &ledger, 1).await.jobs([slow]);
    let report = batch.run().await.unwrap();
    assert_eq!((report.count(State::Saved), fixture.accepted()), (1, 1));
    assert_equal(report.credits(), PRICE);
}

/// A webhook of the task with this id, as the service signs it.
pub fn event(id: &str) -> Event {
    let body = format!(r#"{{"id":"{id}","status":"Error"}}"#);
    let mut headers = axum::http::HeaderMap::new();
    headers.insert("x-secret", SECRET.parse().unwrap());
    Verifier::shared_secret(SECRET).header("x-secret").verify(&headers, body.as_bytes()).unwrap()
}

async fn bad_webhooks_change_nothing(backend: Backend) {
    let config = Config { ready_after: Duration::from_secs(5), ..Config::default() };
    let fixture = Fixture::with(backend, config).await;
    let ledger = fixture.ledger().await;
    let batch = fixture.batch(&ledger).callback_url("http://127.0.0.1:9/hooks");
    let callbacks = batch.callbacks();
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let report = batch.jobs(jobs(1)).run().await.unwrap();
    assert_eq!(report.count(State::Unknown), 1);
    let [task] = fixture.simulator.tasks().try_into().unwrap();
    let url = task.request["webhook_url"].as_str().unwrap();
    let token = url.strip_prefix("http://127.0.0.1:9/hooks/").unwrap();
    assert_eq!(token.len(), 32);
    let error = callbacks.receive("0123", &event(&task.id)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    let error = callbacks.receive(token, &event("00000000-0000")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Client);
    assert_eq!(state(&ledger, "0").await, State::Unknown);
    // The event claims that the task failed. It did not.
    callbacks.receive(token, &event(&task.id)).await.unwrap();
    assert_eq!(state(&ledger, "0").await, State::Submitted);
    callbacks.receive(token, &event(&task.id)).await.unwrap();
    let report = fixture.batch(&ledger).run().await.unwrap();
    assert_eq!((report.count(State::Saved), fixture.accepted()), (1, 1));
}

async fn an_event_cannot_claim_the_task_of_another_job(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = fixture.ledger().await;
    let mut batch = fixture.batch(&ledger).callback_url("http://127.0.0.1:9/hooks").jobs(jobs(1));
    batch.run().await.unwrap();
    fixture.simulator.faults().add("reply-lost:once").unwrap();
    let mut batch = batch.jobs([job("lost", "a lost fox")]);
    batch.run().await.unwrap();
    let tasks = fixture.simulator.tasks();
    let of = |prompt: &str| tasks.iter().find(|task| task.request["prompt"] == prompt).unwrap();
    let url = of("a lost fox").request["webhook_url"].as_str().unwrap();
    let token = url.rsplit('/').next().unwrap();
    let error = batch.callbacks().receive(token, &event(&of("fox 0").id)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert_eq!(state(&ledger, "lost").await, State::Unknown);
}
