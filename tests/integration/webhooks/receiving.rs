//! Deliveries to the receiver over HTTP, up to their responses: bounded, refused, and behind a
//! prefix.

use axum::Router;
use imagekiln::{
    ErrorKind,
    webhook::{Receiver, Verifier},
};

use super::{
    signed::{PENDING, READY, SECRET, SIGNATURE, hmac_header},
    stage::{Stage, setting, submit, verifier},
};
use crate::support::{
    answer::Answer,
    done,
    events::Events,
    samples::{self, assert_kind, assert_no_secret},
    scripted::ScriptedServer,
    settle,
};

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
    assert_eq!(
        stage.send(&format!("{head}Content-Length: 101\r\n\r\n{}", "x".repeat(101))).await,
        413
    );
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
    assert!(
        !text.contains(SECRET) && !text.contains(&hmac_header(SECRET, PENDING.as_bytes())[7..])
    );
    assert_no_secret(&text);
}

#[tokio::test]
async fn a_verifier_that_can_not_be_used_makes_no_receiver() {
    let service = ScriptedServer::start().await;
    let receiver = Receiver::new(samples::client(&service), Verifier::hmac_sha256(""));
    let error = receiver.router(|_| done(async {})).unwrap_err();
    assert_kind(&error, ErrorKind::Settings);
}
