//! Settings of the transport: headers, proxies, retries, deadlines, hooks.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use imagekiln::{
    Billing, ClientBuilder, ErrorKind, RetryPolicy,
    middleware::{Exchange, HeaderMap, Middleware, Outcome},
};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    answer::Answer,
    done,
    samples::{self, KEY, PNG, accepted, assert_kind, builder, fox, picture, ready_body, seconds},
    scripted::ScriptedServer,
};

fn refused() -> Answer {
    Answer::json(429, &json!({ "detail": "slow down" }))
}

#[tokio::test(start_paused = true)]
async fn headers_of_the_program_go_to_the_service_only() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = builder(&service)
        .default_header("X-Gateway", "gateway-secret")
        .user_agent_suffix("fox-farm/1.2")
        .build()
        .unwrap();
    service.answer(accepted(&service, "t1")).answer(samples::ready(&delivery));
    delivery.answer(Answer::png(PNG));

    client.submit(fox()).await.unwrap().wait().await.unwrap().bytes().await.unwrap();

    let agent = concat!("imagekiln/", env!("CARGO_PKG_VERSION"), " fox-farm/1.2");
    for request in service.received() {
        request.assert_has_key();
        assert_eq!(request.header("x-gateway"), Some("gateway-secret"));
        assert_eq!(request.header("user-agent"), Some(agent));
    }
    let download = delivery.only_request();
    download.assert_has_no_key();
    assert_eq!(download.header("x-gateway"), None);
    assert_eq!(download.header("user-agent"), Some(agent));
}

#[tokio::test(start_paused = true)]
async fn headers_of_the_program_are_secrets() {
    let service = ScriptedServer::start().await;
    let settings = builder(&service).default_header("x-gateway", "gateway-secret");
    assert!(!format!("{settings:?}").contains("gateway-secret"));
    let echo = json!({ "detail": "the gateway does not know gateway-secret" });
    service.answer(Answer::json(403, &echo));
    let error = settings.build().unwrap().submit(fox()).await.unwrap_err();
    assert!(!error.to_string().contains("gateway-secret"), "{error}");
}

#[tokio::test]
async fn settings_that_can_not_be_used_are_refused_by_name() {
    let server = ScriptedServer::start().await;
    let refused = |change: fn(ClientBuilder) -> ClientBuilder| {
        let error = change(builder(&server)).build().unwrap_err();
        assert_kind(&error, ErrorKind::Settings);
        error.to_string()
    };
    let errors = [
        refused(|builder| builder.default_header("x-key", "another")),
        refused(|builder| builder.default_header("Content-Length", "1")),
        refused(|builder| builder.default_header("no name", "1")),
        refused(|builder| builder.default_header("x-a", "line\nbreak")),
        refused(|builder| builder.user_agent_suffix("line\nbreak")),
        refused(|builder| builder.proxy("proxy.example.com:3128")),
        refused(|builder| builder.proxy("socks5://user:hidden@proxy.example.com")),
        refused(|builder| builder.poll_deadline(Duration::ZERO)),
        refused(|builder| builder.submit_deadline(Duration::ZERO)),
    ];
    let shown = errors.join("\n");
    assert!(!shown.contains("hidden"), "{shown}");
    insta::assert_snapshot!(shown);
}

/// Hosts on loopback are reached without the proxy, so the service has a name that only the proxy
/// can resolve.
#[tokio::test]
async fn a_proxy_gets_every_request_but_those_to_loopback() {
    let (proxy, local) = (ScriptedServer::start().await, ScriptedServer::start().await);
    proxy.answer(accepted(&local, "t1")).answer(Answer::png(PNG));
    local.answer(Answer::json(200, &ready_body("http://cdn.test/fox.png")));
    let client = builder(&local)
        .base_url("http://service.test")
        .allow_http(true)
        .allow_polling_host(local.authority())
        .proxy(proxy.url("").replace("http://", "http://user:word@"))
        .build()
        .unwrap();

    let picture = client.submit(fox()).await.unwrap().wait().await.unwrap();
    assert_eq!(picture.bytes().await.unwrap(), PNG);

    let [submission, download] = proxy.received().try_into().unwrap();
    assert_eq!(submission.target, "http://service.test/v1/gen-2-pro");
    assert_eq!(submission.header("proxy-authorization"), Some("Basic dXNlcjp3b3Jk"));
    assert_eq!(download.target, "http://cdn.test/fox.png");
    download.assert_has_no_key();
}

#[tokio::test(start_paused = true)]
async fn a_policy_decides_how_often_a_submission_is_sent() {
    let service = ScriptedServer::start().await;
    service.answer(refused()).answer(refused());
    let client = builder(&service).retry(RetryPolicy::default().attempts(2)).build().unwrap();
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::RateLimited);
    assert_eq!(service.posts().len(), 2);

    service.answer(refused());
    let client = builder(&service).retry(RetryPolicy::default().attempts(0)).build().unwrap();
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::RateLimited);
    assert_eq!(service.posts().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_policy_decides_how_long_the_service_can_make_it_wait() {
    let service = ScriptedServer::start().await;
    let policy = RetryPolicy::default().longest_retry_after(seconds(10));
    let client = builder(&service).retry(policy).build().unwrap();
    service.answer(refused().header("retry-after", "11"));
    let error = client.submit(fox()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(seconds(11)));
    assert_eq!(service.posts().len(), 1);

    service.answer(refused().header("retry-after", "600")).answer(samples::status("Error"));
    let started = Instant::now();
    let error = samples::task(&client, &service).wait().await.unwrap_err();
    assert_kind(&error, ErrorKind::TaskFailed);
    assert!((10..15).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_policy_decides_how_often_a_picture_is_fetched() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = builder(&service).retry(RetryPolicy::default().attempts(1)).build().unwrap();
    let picture = picture(&client, &service, &delivery).await;
    delivery.answer(Answer::json(503, &json!({})));
    assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Delivery);
    delivery.only_request();
}

#[tokio::test(start_paused = true)]
async fn a_submission_beyond_its_deadline_is_not_cut() {
    let service = ScriptedServer::start().await;
    let client = builder(&service).submit_deadline(seconds(5)).build().unwrap();
    let (answer, pieces) = Answer::nothing().in_pieces();
    service.answer(answer);
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_eq!(started.elapsed().as_secs(), 5);
    assert_kind(&error, ErrorKind::Deadline);
    assert_eq!(error.billing(), Billing::Unknown);
    insta::assert_snapshot!(error);
    pieces.send(accepted(&service, "t1").bytes());
    let left = done(client.drain(seconds(60))).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].id(), "t1");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_slot_counts_and_costs_nothing() {
    let service = ScriptedServer::start().await;
    let client = builder(&service).max_active_tasks(1).submit_deadline(seconds(5)).build().unwrap();
    service.answer(accepted(&service, "t1")).otherwise(|_| samples::status("Pending"));
    let _task = client.submit(fox()).await.unwrap();

    let error = client.submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    assert_eq!(error.billing(), Billing::NotBilled);
    assert_eq!(service.posts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_poll_beyond_its_deadline_is_repeated() {
    let service = ScriptedServer::start().await;
    let client = builder(&service).poll_deadline(seconds(3)).build().unwrap();
    service.answer(Answer::silence()).answer(samples::status("Error"));
    let started = Instant::now();
    let error = samples::task(&client, &service).wait().await.unwrap_err();
    assert_kind(&error, ErrorKind::TaskFailed);
    assert!((3..5).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

/// Adds a header, tries to take the key, and remembers what it saw.
#[derive(Clone, Default)]
struct Spy(Arc<Mutex<Vec<String>>>);

impl Middleware for Spy {
    fn before(&self, exchange: &Exchange<'_>, headers: &mut HeaderMap) {
        assert!(!headers.values().any(|value| value == KEY), "the hook saw the key");
        headers.insert("x-trace", "4bf92f35".parse().unwrap());
        headers.insert("x-key", "another key".parse().unwrap());
        headers.insert("content-length", "1".parse().unwrap());
        headers.insert("content-type", "text/plain".parse().unwrap());
        let Exchange { purpose, url, operation, task_id, .. } = exchange;
        let path = url.to_string().rsplit('/').next().unwrap().to_owned();
        self.say(format!("{purpose:?} {path} {operation:?} {task_id:?}"));
    }

    fn after(&self, exchange: &Exchange<'_>, outcome: &Outcome) {
        let Outcome { status, elapsed, .. } = outcome;
        self.say(format!("{:?} {status:?} after {} s", exchange.purpose, elapsed.as_secs()));
    }
}

impl Spy {
    fn say(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

#[tokio::test(start_paused = true)]
async fn middleware_sees_every_exchange_and_no_secret() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let spy = Spy::default();
    let client =
        builder(&service).middleware(spy.clone()).poll_deadline(seconds(3)).build().unwrap();
    service
        .answer(refused())
        .answer(accepted(&service, "t1"))
        .answer(Answer::silence())
        .answer(samples::ready(&delivery));
    delivery.answer(Answer::redirect(302, "/moved.png")).answer(Answer::png(PNG));

    client.submit(fox()).await.unwrap().wait().await.unwrap().bytes().await.unwrap();

    let seen = spy.0.lock().unwrap().join("\n");
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
async fn middleware_hears_of_an_exchange_without_a_response() {
    let service = ScriptedServer::start().await;
    let spy = Spy::default();
    let client = builder(&service).middleware(spy.clone()).build().unwrap();
    service.answer(Answer::close());
    let error = client.submit(fox()).await.unwrap_err();
    assert_eq!(error.billing(), Billing::Unknown);
    let seen = spy.0.lock().unwrap().clone();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1], "Submission None after 0 s");
}
