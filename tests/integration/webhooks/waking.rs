//! Events wake the waits for their tasks. Polling continues without events.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;

use super::{
    signed::{READY, SECRET, SIGNATURE, event},
    test_receiver::setup,
};
use crate::support::{
    reply::Reply,
    samples::{self, fox},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Client, Task, WaitOptions};

const HOUR: Duration = Duration::from_secs(3600);

/// Options with so few polls that only an event can end the wait early.
fn rare_polls() -> WaitOptions {
    WaitOptions::default().interval(HOUR).max_interval(HOUR).deadline(10 * HOUR)
}

/// A task whose first poll returns `Pending`.
async fn pending_task(service: &ScriptedServer, client: &Client) -> Task {
    service.reply(samples::accepted(service, "t1")).reply(samples::status("Pending"));
    client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_verified_event_wakes_a_wait() {
    let (service, client, receiver) = setup().await;
    let task = pending_task(&service, &client).await;
    let started = Instant::now();
    let wait = tokio::spawn(async move { task.wait_with(rare_polls()).await });
    service.wait_for_requests(2).await;
    settle().await;
    // The wait takes the poll that confirms the event.
    service.reply(samples::ready(&service));
    assert_eq!(receiver.deliver(READY).await, 204);
    assert_eq!(wait.await.unwrap().unwrap().task().id(), "t1");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(service.received().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_wakes_every_wait_and_stream_of_a_task() {
    let (service, client, _receiver) = setup().await;
    let task = pending_task(&service, &client).await;
    service.reply(samples::status("Pending"));
    let reference = task.reference().clone();
    let started = Instant::now();
    let other = client.task(reference.clone());
    let stream = tokio::spawn(async move {
        other
            .updates(rare_polls())
            .map(|update| update.unwrap().status().to_string())
            .collect::<Vec<_>>()
            .await
    });
    let wait = tokio::spawn(async move { task.wait_with(rare_polls()).await });
    service.wait_for_requests(3).await;
    settle().await;

    // Both take the poll that confirms the event.
    service.reply(samples::ready(&service));
    client.confirm(&event(READY), &reference).await.unwrap();
    let _ = wait.await.unwrap().unwrap();
    assert_eq!(stream.await.unwrap(), ["Pending", "Ready"]);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn other_and_forged_events_wake_no_wait() {
    let (service, client, receiver) = setup().await;
    let task = pending_task(&service, &client).await;
    let wait = tokio::spawn(async move { task.wait_with(rare_polls()).await });
    service.wait_for_requests(2).await;
    settle().await;

    service.reply(samples::status("Task not found"));
    assert_eq!(receiver.deliver(r#"{"id": "t2", "status": "Task not found"}"#).await, 204);
    assert_eq!(receiver.post("/hook", &format!("{SIGNATURE}: {SECRET}\r\n"), READY).await, 401);
    service.wait_for_requests(3).await;
    settle().await;
    assert_eq!(service.received().len(), 3);

    // The wait also ends without an event, by polling.
    service.reply(samples::ready(&service));
    let _ = wait.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_does_not_shorten_a_requested_pause() {
    let (service, client, _receiver) = setup().await;
    service.reply(samples::accepted(&service, "t1"));
    let task = client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap();
    let reference = task.reference().clone();
    service.reply(Reply::status(429).header("Retry-After", "60"));
    let started = Instant::now();
    let wait = tokio::spawn(async move { task.wait_with(rare_polls()).await });
    service.wait_for_requests(2).await;
    settle().await;

    service.reply(samples::ready(&service));
    client.confirm(&event(READY), &reference).await.unwrap();
    let _ = wait.await.unwrap().unwrap();
    assert!(started.elapsed() >= Duration::from_secs(60));
}
