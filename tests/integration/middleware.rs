//! Middlewares see every exchange and every retry, and no secrets.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use crate::{
    support::{
        events::Events,
        reply::Reply,
        samples::{self, KEY, PNG, accepted, builder, fox, seconds},
        scripted::ScriptedServer,
    },
    transport::refused,
};
use imagekiln::{
    Billing, ErrorKind, RetryPolicy,
    middleware::{Exchange, HeaderMap, Middleware, Outcome, Retry},
};

/// Adds a header, tries to set the key, and records what it observes.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Middleware for Recorder {
    fn before(&self, exchange: &Exchange<'_>, headers: &mut HeaderMap) {
        assert!(!headers.values().any(|value| value == KEY), "the middleware observed the key");
        headers.insert("x-trace", "4bf92f35".parse().unwrap());
        headers.insert("x-key", "another key".parse().unwrap());
        headers.insert("content-length", "1".parse().unwrap());
        headers.insert("content-type", "text/plain".parse().unwrap());
        let Exchange { purpose, url, operation, task_id, .. } = exchange;
        let path = url.to_string().rsplit('/').next().unwrap().to_owned();
        self.record(format!("{purpose:?} {path} {operation:?} {task_id:?}"));
    }

    fn after(&self, exchange: &Exchange<'_>, outcome: &Outcome) {
        let Outcome { status, elapsed, .. } = outcome;
        self.record(format!("{:?} {status:?} after {} s", exchange.purpose, elapsed.as_secs()));
    }
}

/// Records the retries.
#[derive(Clone, Default)]
struct Retries(Arc<Mutex<Vec<String>>>);

impl Middleware for Retries {
    fn retry(&self, retry: &Retry<'_>) {
        let Retry { purpose, operation, task_id, failures, attempts, wait, error, .. } = retry;
        assert_eq!(*operation, Some("gen-2-pro"));
        self.0.lock().unwrap().push(format!(
            "{purpose:?} {task_id:?}: {failures} of {attempts:?} failed ({:?} {:?}), wait {:.1} s",
            error.kind(),
            error.status(),
            wait.as_secs_f32(),
        ));
    }
}

/// Panics in every method, after it has changed the headers.
struct Panicking;

impl Middleware for Panicking {
    fn before(&self, _: &Exchange<'_>, headers: &mut HeaderMap) {
        headers.clear();
        headers.insert("x-trace", "of the panicking middleware".parse().unwrap());
        panic!("in `before`");
    }

    fn after(&self, _: &Exchange<'_>, _: &Outcome) {
        panic!("in `after`");
    }

    fn retry(&self, _: &Retry<'_>) {
        panic!("in `retry`");
    }
}

impl Recorder {
    fn record(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

#[tokio::test(start_paused = true)]
async fn middleware_observes_every_exchange_without_secrets() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let recorder = Recorder::default();
    let client =
        builder(&service).middleware(recorder.clone()).poll_deadline(seconds(3)).build().unwrap();
    service
        .reply(refused())
        .reply(accepted(&service, "t1"))
        .reply(Reply::silence())
        .reply(samples::ready(&delivery));
    delivery.reply(Reply::redirect(302, "/moved.png")).reply(Reply::png(PNG));

    client.submit(fox()).await.unwrap().wait().await.unwrap().bytes().await.unwrap();

    let seen = recorder.0.lock().unwrap().join("\n");
    samples::assert_no_secret(&seen);
    insta::assert_snapshot!(seen);
    for request in service.received() {
        assert_eq!(request.header("x-trace"), Some("4bf92f35"));
        request.assert_has_key();
        assert_ne!(request.header("content-length"), Some("1"));
        assert_ne!(request.header("content-type"), Some("text/plain"));
    }
    for request in delivery.received() {
        assert_eq!(request.header("x-trace"), Some("4bf92f35"));
        request.assert_has_no_key();
        assert_eq!(request.header("x-key"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn middleware_observes_an_exchange_without_a_response() {
    let service = ScriptedServer::start().await;
    let recorder = Recorder::default();
    let client = builder(&service).middleware(recorder.clone()).build().unwrap();
    service.reply(Reply::close());
    let error = client.submit(fox()).await.unwrap_err();
    assert_eq!(error.billing(), Billing::Unknown);
    let seen = recorder.0.lock().unwrap().clone();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1], "Submission None after 0 s");
}

#[tokio::test(start_paused = true)]
async fn middleware_is_called_before_each_retry() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let retries = Retries::default();
    let policy = RetryPolicy::default().attempts(3);
    let client = builder(&service).middleware(retries.clone()).retry(policy).build().unwrap();
    let submitting = Instant::now();
    service.reply(refused().header("Retry-After", "6")).reply(accepted(&service, "t1"));
    let task = client.submit(fox()).await.unwrap();
    let submitted = submitting.elapsed();
    service
        .reply(samples::status("Pending"))
        .reply(Reply::status(503))
        .reply(Reply::close())
        .reply(samples::status("Pending"))
        .reply(refused().header("Retry-After", "6"))
        .reply(samples::ready(&delivery));
    let picture = task.wait().await.unwrap();
    delivery.reply(Reply::status(500)).reply(Reply::png(PNG));
    picture.bytes().await.unwrap();
    // A failure that is not repeated is not announced.
    service.reply(Reply::status(400));
    client.submit(fox()).await.unwrap_err();

    let seen = retries.0.lock().unwrap().clone();
    let announced: f32 = seen[0].rsplit(' ').nth(1).unwrap().parse().unwrap();
    assert!((submitted.as_secs_f32() - announced).abs() < 0.1, "{submitted:?}: {seen:?}");
    samples::assert_no_secret(&seen.join("\n"));
    insta::assert_snapshot!(seen.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_middleware_loses_no_task() {
    let events = Events::capture();
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let recorder = Recorder::default();
    let builder = builder(&service).middleware(Panicking).middleware(recorder.clone());
    let client = builder.middleware(Panicking).build().unwrap();
    service
        .reply(refused())
        .reply(accepted(&service, "t1"))
        .reply(Reply::html(502))
        .reply(samples::ready(&delivery));
    delivery.reply(Reply::html(502)).reply(Reply::png(PNG));

    client.submit(fox()).await.unwrap().wait().await.unwrap().bytes().await.unwrap();

    assert_eq!(service.posts().len(), 2);
    for request in service.received() {
        assert_eq!(request.header("x-trace"), Some("4bf92f35"));
        request.assert_has_key();
    }
    // The other middleware is called before and after each of the six exchanges.
    assert_eq!(recorder.0.lock().unwrap().len(), 12);
    let logged = events.with_message("a middleware panicked; continuing without it");
    let count = |method| logged.iter().filter(|event| event.contains(method)).count();
    assert_eq!([count("before"), count("after"), count("retry")], [12, 12, 6]);
    assert!(logged.iter().all(|event| event.starts_with("ERROR")));
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_a_request_that_is_not_sent_is_not_billed() {
    let client = samples::builder(&ScriptedServer::start().await).middleware(Panicking);
    let client = client.base_url("http://127.0.0.1:9").build().unwrap();
    let error = client.submit(fox()).await.unwrap_err();
    assert_eq!((error.kind(), error.billing()), (ErrorKind::Network, Billing::NotBilled));
}
