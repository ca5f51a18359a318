//! An event wakes the waits for its task. Polling goes on as if there were no events.

use std::time::Duration;

use futures_util::StreamExt as _;
use imagekiln::{
    Client, Task, WaitOptions,
    webhook::{Receiver, Verifier},
};
use tokio::time::Instant;

use super::{
    signed::{READY, SECRET, SIGNATURE, headers, hmac_header},
    stage::Stage,
};
use crate::support::{
    answer::Answer,
    samples::{self, fox},
    scripted::ScriptedServer,
    settle,
};

const HOUR: Duration = Duration::from_secs(3600);

/// A wait that polls so seldom that only an event can end it soon.
fn seldom() -> WaitOptions {
    WaitOptions::default().interval(HOUR).max_interval(HOUR).deadline(10 * HOUR)
}

/// A task whose first poll says that it is pending.
async fn pending_task(service: &ScriptedServer, client: &Client) -> Task {
    service.answer(samples::accepted(service, "t1")).answer(samples::status("Pending"));
    client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_wait_polls_as_soon_as_the_receiver_has_verified_an_event() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let stage = Stage::of(Receiver::new(client.clone(), Verifier::hmac_sha256(SECRET))).await;
    let task = pending_task(&service, &client).await;
    let started = Instant::now();
    let wait = tokio::spawn(async move { task.wait_with(seldom()).await });
    service.wait_for_requests(2).await;
    settle().await;
    service.answer(samples::ready(&service)).answer(samples::ready(&service));
    assert_eq!(stage.deliver(READY).await, 204);
    assert_eq!(wait.await.unwrap().unwrap().task().id(), "t1");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    service.wait_for_requests(4).await;
}

#[tokio::test(start_paused = true)]
async fn every_wait_and_every_stream_of_a_task_is_woken_by_a_confirmation() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let task = pending_task(&service, &client).await;
    service.answer(samples::status("Pending"));
    let reference = task.reference().clone();
    let started = Instant::now();
    let other = client.task(reference.clone());
    let stream = tokio::spawn(async move {
        other
            .updates(seldom())
            .map(|update| update.unwrap().status().to_string())
            .collect::<Vec<_>>()
            .await
    });
    let wait = tokio::spawn(async move { task.wait_with(seldom()).await });
    service.wait_for_requests(3).await;
    settle().await;

    for _ in 0..3 {
        service.answer(samples::ready(&service));
    }
    let headers = headers(&[(SIGNATURE, &hmac_header(SECRET, READY.as_bytes()))]);
    let event = Verifier::hmac_sha256(SECRET).verify(&headers, READY).unwrap();
    client.confirm(&event, &reference).await.unwrap();
    let _ = wait.await.unwrap().unwrap();
    assert_eq!(stream.await.unwrap(), ["Pending", "Ready"]);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_event_of_another_task_or_a_forged_one_wakes_nobody() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    let stage = Stage::of(Receiver::new(client.clone(), Verifier::hmac_sha256(SECRET))).await;
    let task = pending_task(&service, &client).await;
    let wait = tokio::spawn(async move { task.wait_with(seldom()).await });
    service.wait_for_requests(2).await;
    settle().await;

    service.answer(samples::status("Task not found"));
    assert_eq!(stage.deliver(r#"{"id": "t2", "status": "Task not found"}"#).await, 204);
    assert_eq!(stage.post("/hook", &format!("{SIGNATURE}: {SECRET}\r\n"), READY).await, 401);
    service.wait_for_requests(3).await;
    settle().await;
    assert_eq!(service.received().len(), 3);

    // Without an event the wait still ends, by polling.
    service.answer(samples::ready(&service));
    let _ = wait.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_does_not_cut_short_a_wait_that_the_service_asked_for() {
    let service = ScriptedServer::start().await;
    let client = samples::client(&service);
    service.answer(samples::accepted(&service, "t1"));
    let task = client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap();
    let reference = task.reference().clone();
    service.answer(Answer::status(429).header("Retry-After", "60"));
    let started = Instant::now();
    let wait = tokio::spawn(async move { task.wait_with(seldom()).await });
    service.wait_for_requests(2).await;
    settle().await;

    service.answer(samples::ready(&service)).answer(samples::ready(&service));
    let headers = headers(&[(SIGNATURE, &hmac_header(SECRET, READY.as_bytes()))]);
    let event = Verifier::hmac_sha256(SECRET).verify(&headers, READY).unwrap();
    client.confirm(&event, &reference).await.unwrap();
    let _ = wait.await.unwrap().unwrap();
    assert!(started.elapsed() >= Duration::from_secs(60));
}
