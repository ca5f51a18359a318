//! Deliveries to the receiver over HTTP, and its responses.

use axum::Router;

use super::{
    signed::{PENDING, READY, SECRET, SIGNATURE, hmac_header},
    test_receiver::{TestReceiver, setup, submit, verifier},
};
use crate::support::{
    done,
    events::Events,
    reply::Reply,
    samples::{self, assert_kind, assert_no_secret, served},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{
    ErrorKind,
    webhook::{Receiver, Verifier},
};

#[tokio::test(start_paused = true)]
async fn the_number_of_pending_events_is_limited() {
    let (service, client) = served().await;
    let mut receiver =
        TestReceiver::of(Receiver::new(client.clone(), verifier()).max_pending(1)).await;
    submit(&client, &service, "t1").await;
    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    assert_eq!(receiver.deliver(READY).await, 204);
    service.wait_for_requests(2).await;
    assert_eq!(receiver.deliver(READY).await, 204, "the event is a repetition");
    assert_eq!(receiver.deliver(PENDING).await, 503);
    rest.send(samples::ready(&service).bytes());
    assert!(receiver.outcome().await.is_ok());
    settle().await;
    service.reply(samples::status("Pending"));
    assert_eq!(receiver.deliver(PENDING).await, 204);
    service.wait_for_requests(3).await;
}

#[tokio::test]
async fn the_router_can_be_nested_and_accepts_only_post() {
    let (service, client, receiver) = setup().await;
    submit(&client, &service, "t1").await;
    service.otherwise(|_| samples::status("Pending"));
    let signed = format!("{SIGNATURE}: {}\r\n", hmac_header(SECRET, PENDING.as_bytes()));
    assert_eq!(receiver.post("/", &signed, PENDING).await, 404);
    assert_eq!(receiver.send("GET /hook HTTP/1.1\r\nHost: a\r\n\r\n").await, 405);
    assert_eq!(receiver.post("/hook?source=service", &signed, PENDING).await, 204);

    let behind = TestReceiver::behind(Receiver::new(client, verifier()), |router| {
        Router::new().nest("/deep", Router::new().nest("/prefix", router))
    })
    .await;
    assert_eq!(behind.post("/deep/prefix", &signed, PENDING).await, 204);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_bounded_in_size_and_time() {
    let service = ScriptedServer::start().await;
    let receiver = Receiver::new(samples::client(&service), verifier().max_body_bytes(100));
    let receiver = TestReceiver::of(receiver).await;
    let head = "POST /hook HTTP/1.1\r\nHost: a\r\n";
    assert_eq!(
        receiver.send(&format!("{head}Content-Length: 101\r\n\r\n{}", "x".repeat(101))).await,
        413
    );
    let chunk = "7f\r\n".to_owned() + &"x".repeat(127) + "\r\n";
    assert_eq!(
        receiver.send(&format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}")).await,
        413
    );
    assert_eq!(receiver.send(&format!("{head}Content-Length: 100\r\n\r\nhalf")).await, 408);
    service.assert_received_nothing();
}

#[tokio::test]
async fn refusals_are_logged_without_secrets() {
    let events = Events::capture();
    let (service, _client, receiver) = setup().await;
    let signed = |body: &str| format!("{SIGNATURE}: {}\r\n", hmac_header(SECRET, body.as_bytes()));
    assert_eq!(receiver.post("/hook", "", READY).await, 401);
    assert_eq!(receiver.post("/hook", &signed(PENDING), READY).await, 401);
    assert_eq!(receiver.post("/hook", &signed("not JSON"), "not JSON").await, 400);
    assert_eq!(
        receiver.post("/hook", &signed("{}"), "{}").await,
        204,
        "genuine, but without a task"
    );
    service.assert_received_nothing();
    let text = events.text();
    assert!(text.contains("webhook rejected") && text.contains("contains no task id"), "{text}");
    assert!(
        !text.contains(SECRET) && !text.contains(&hmac_header(SECRET, PENDING.as_bytes())[7..])
    );
    assert_no_secret(&text);
}

#[tokio::test]
async fn an_invalid_verifier_is_refused_by_the_receiver() {
    let service = ScriptedServer::start().await;
    let receiver = Receiver::new(samples::client(&service), Verifier::hmac_sha256(""));
    let error = receiver.router(|_| done(async {})).unwrap_err();
    assert_kind(&error, ErrorKind::Settings);
}
