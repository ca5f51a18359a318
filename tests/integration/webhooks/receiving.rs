//! The receiver: answered at once, confirmed by polls, handed over once, and bounded.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::Router;
use imagekiln::{
    Client, ErrorKind, WaitOptions,
    webhook::{Receiver, Verifier},
};
use serde_json::json;
use tokio::{sync::mpsc, time::Instant};

use super::{
    signed::{SECRET, SIGNATURE, hmac_header},
    stage::Stage,
};
use crate::support::{
    answer::Answer,
    done,
    events::Events,
    samples::{self, assert_kind, assert_no_secret, fox},
    scripted::ScriptedServer,
    settle,
};

const READY: &str = r#"{"id": "t1", "status": "Ready"}"#;
const PENDING: &str = r#"{"id": "t1", "status": "Pending"}"#;

fn verifier() -> Verifier {
    Verifier::hmac_sha256(SECRET)
}

/// A task that was submitted with a webhook, so that the receiver knows where it is polled.
async fn submit(client: &Client, service: &ScriptedServer, id: &str) {
    service.answer(samples::accepted(service, id));
    client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap();
}

async fn setting() -> (ScriptedServer, Client, Stage) {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let stage = Stage::of(Receiver::new(client.clone(), verifier())).await;
    (service, client, stage)
}

#[tokio::test]
async fn a_task_is_polled_where_it_was_submitted() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert_eq!(stage.outcome().await.unwrap().task().id(), "t1");
    let polls = service.polls();
    assert_eq!(polls.len(), 1);
    assert!(polls[0].target.starts_with("/poll/t1?"), "{}", polls[0].target);
    service.assert_every_request_has_the_key();
}

#[tokio::test]
async fn an_early_pending_does_not_suppress_ready() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::status("Pending"));
    assert_eq!(stage.deliver(PENDING).await, 204);
    service.wait_for_requests(2).await;
    assert!(!stage.was_called());
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_task_is_handed_over_once_whichever_events_come() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.otherwise({
        let ready = samples::delivery_url(&service);
        move |_| Answer::json(200, &samples::ready_body(&ready))
    });
    // The picture is ready before the event that says otherwise has arrived.
    assert_eq!(stage.deliver(PENDING).await, 204);
    stage.outcome().await.unwrap();
    assert_eq!(stage.deliver(READY).await, 204);
    assert_eq!(stage.deliver(PENDING).await, 204);
    settle().await;
    assert!(!stage.was_called());
    assert_eq!(service.polls().len(), 2, "one for each event that was not seen before");
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_lags_behind_the_event_is_repeated() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::status("Pending")).answer(samples::status("Pending"));
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_that_fails_is_retried() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    let denied = Answer::json(403, &json!({ "detail": "Forbidden" }));
    service.answer(Answer::status(502)).answer(Answer::reset()).answer(denied).answer(Answer::close());
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_event_that_was_never_confirmed_was_not_seen() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let receiver = Receiver::new(client.clone(), verifier());
    let mut stage =
        Stage::of(receiver.wait_options(WaitOptions::default().deadline(samples::seconds(20)))).await;
    submit(&client, &service, "t1").await;
    service.otherwise(|_| Answer::status(500));
    assert_eq!(stage.deliver(READY).await, 204);
    tokio::time::sleep(samples::seconds(60)).await;
    assert!(!stage.was_called());

    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_event_that_arrives_before_the_response_is_held() {
    let (service, client, mut stage) = setting().await;
    let (response, rest) = Answer::nothing().in_pieces();
    service.answer(response);
    let submission = tokio::spawn({
        let client = client.clone();
        async move { client.submit(fox().webhook_url("https://example.com/hook")).await }
    });
    service.wait_for_requests(1).await;
    assert_eq!(stage.deliver(READY).await, 204);
    settle().await;
    assert_eq!(service.received().len(), 1, "nothing is polled while the submission is under way");

    service.answer(samples::ready(&service));
    rest.send(samples::accepted(&service, "t1").bytes());
    assert!(stage.outcome().await.is_ok());
    assert_eq!(submission.await.unwrap().unwrap().id(), "t1");
    assert!(service.polls()[0].target.starts_with("/poll/t1?"));
}

#[tokio::test(start_paused = true)]
async fn an_event_is_not_held_for_longer_than_a_minute() {
    let service = ScriptedServer::start().await;
    let client = samples::builder(&service).silence_timeout(samples::seconds(3600)).build().unwrap();
    let mut stage = Stage::of(Receiver::new(client.clone(), verifier())).await;
    service.answer(Answer::silence());
    let submission =
        tokio::spawn(async move { client.submit(fox().webhook_url("https://example.com/hook")).await });
    service.wait_for_requests(1).await;
    let delivered = Instant::now();
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
    assert_eq!(delivered.elapsed().as_secs(), 60);
    submission.abort();
}

#[tokio::test]
async fn the_task_of_another_process_is_polled_by_its_id_at_both_addresses() {
    let (service, regional) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::builder(&service).regional_base_url(regional.url("")).build().unwrap();
    let mut stage = Stage::of(Receiver::new(client, verifier())).await;
    service.answer(samples::status("Task not found"));
    regional.answer(samples::ready(&regional));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
    for server in [&service, &regional] {
        assert_eq!(server.only_request().target, "/v1/get_result?id=t1");
        server.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_service_does_not_know_is_not_handed_over() {
    let (service, _client, mut stage) = setting().await;
    service.answer(samples::status("Task not found"));
    assert_eq!(stage.deliver(READY).await, 204);
    settle().await;
    assert!(!stage.was_called());
    service.answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok(), "the event was not seen before");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_must_be_withheld_ends_the_confirmation() {
    let (service, client, stage) = setting().await;
    let elsewhere = json!({ "id": "t1", "polling_url": "https://elsewhere.example/poll" });
    service.answer(Answer::json(200, &elsewhere));
    client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap();
    let events = Events::capture();
    assert_eq!(stage.deliver(READY).await, 204);
    settle().await;
    assert!(events.text().contains("KeyWithheld"), "{}", events.text());
    assert_eq!(service.received().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_is_called_again_by_the_next_delivery() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let panics = Arc::new(AtomicBool::new(true));
    let (sender, outcomes) = mpsc::unbounded_channel();
    let router = Receiver::new(client.clone(), verifier()).router(move |outcome| {
        let (sender, panics) = (sender.clone(), Arc::clone(&panics));
        async move {
            assert!(!panics.swap(false, Ordering::Relaxed), "the handler of this test panics");
            sender.send(outcome).unwrap();
        }
    });
    let mut stage = Stage::serving(Router::new().nest("/hook", router.unwrap()), outcomes).await;
    submit(&client, &service, "t1").await;
    service.otherwise({
        let ready = samples::delivery_url(&service);
        move |_| Answer::json(200, &samples::ready_body(&ready))
    });
    assert_eq!(stage.deliver(READY).await, 204);
    settle().await;
    assert!(!stage.was_called());
    assert_eq!(stage.deliver(READY).await, 204);
    assert!(stage.outcome().await.is_ok());
}

#[tokio::test]
async fn a_failure_is_handed_over_as_an_error_of_a_wait() {
    let (service, client, mut stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.answer(samples::status("Error"));
    assert_eq!(stage.deliver(r#"{"id": "t1"}"#).await, 204);
    let error = stage.outcome().await.unwrap_err();
    assert_kind(&error, ErrorKind::TaskFailed);
    assert_eq!(error.task().unwrap().id(), "t1");
}

#[tokio::test(start_paused = true)]
async fn no_more_events_than_allowed_wait_for_their_confirmation() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let mut stage = Stage::of(Receiver::new(client.clone(), verifier()).max_pending(1)).await;
    submit(&client, &service, "t1").await;
    let (response, rest) = Answer::nothing().in_pieces();
    service.answer(response);
    assert_eq!(stage.deliver(READY).await, 204);
    service.wait_for_requests(2).await;
    assert_eq!(stage.deliver(READY).await, 204, "it is the same event");
    assert_eq!(stage.deliver(PENDING).await, 503);
    rest.send(samples::ready(&service).bytes());
    assert!(stage.outcome().await.is_ok());
    settle().await;
    service.answer(samples::status("Pending"));
    assert_eq!(stage.deliver(PENDING).await, 204);
    service.wait_for_requests(3).await;
}

#[tokio::test]
async fn works_behind_a_prefix_and_takes_nothing_but_posts() {
    let (service, client, stage) = setting().await;
    submit(&client, &service, "t1").await;
    service.otherwise(|_| samples::status("Pending"));
    let signed = format!("{SIGNATURE}: {}\r\n", hmac_header(SECRET, PENDING.as_bytes()));
    assert_eq!(stage.post("/", &signed, PENDING).await, 404);
    assert_eq!(stage.send("GET /hook HTTP/1.1\r\nHost: a\r\n\r\n").await, 405);
    assert_eq!(stage.post("/hook?source=service", &signed, PENDING).await, 204);

    let behind = Stage::behind(Receiver::new(client, verifier()), |router| {
        Router::new().nest("/deep", Router::new().nest("/prefix", router))
    })
    .await;
    assert_eq!(behind.post("/deep/prefix", &signed, PENDING).await, 204);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_bounded_in_size_and_time() {
    let service = ScriptedServer::start().await;
    let receiver = Receiver::new(samples::client(&service), verifier().max_body_bytes(100));
    let stage = Stage::of(receiver).await;
    let head = "POST /hook HTTP/1.1\r\nHost: a\r\n";
    assert_eq!(stage.send(&format!("{head}Content-Length: 101\r\n\r\n{}", "x".repeat(101))).await, 413);
    let chunk = "7f\r\n".to_owned() + &"x".repeat(127) + "\r\n";
    assert_eq!(stage.send(&format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}")).await, 413);
    assert_eq!(stage.send(&format!("{head}Content-Length: 100\r\n\r\nhalf")).await, 408);
    service.assert_received_nothing();
}

#[tokio::test]
async fn what_is_refused_is_answered_and_logged_without_secrets() {
    let events = Events::capture();
    let (service, _client, stage) = setting().await;
    let signed = |body: &str| format!("{SIGNATURE}: {}\r\n", hmac_header(SECRET, body.as_bytes()));
    assert_eq!(stage.post("/hook", "", READY).await, 401);
    assert_eq!(stage.post("/hook", &signed(PENDING), READY).await, 401);
    assert_eq!(stage.post("/hook", &signed("no JSON"), "no JSON").await, 400);
    assert_eq!(stage.post("/hook", &signed("{}"), "{}").await, 204, "genuine, and about no task");
    service.assert_received_nothing();
    let text = events.text();
    assert!(text.contains("webhook refused") && text.contains("names no task"), "{text}");
    assert!(!text.contains(SECRET) && !text.contains(&hmac_header(SECRET, PENDING.as_bytes())[7..]));
    assert_no_secret(&text);
}

#[tokio::test]
async fn a_verifier_that_can_not_be_used_makes_no_receiver() {
    let service = ScriptedServer::start().await;
    let receiver = Receiver::new(samples::client(&service), Verifier::hmac_sha256(""));
    let error = receiver.router(|_| done(async {})).unwrap_err();
    assert_kind(&error, ErrorKind::Settings);
}
