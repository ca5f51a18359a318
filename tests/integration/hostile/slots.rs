//! The slots of active tasks: held until any poll returns a final status. Long waits for a slot are
//! logged.

use serde_json::json;
use tokio::time::{self, Instant};

use crate::support::{
    done,
    events::Events,
    reply::Reply,
    samples::{self, assert_billing, assert_kind, fox, ready, seconds, served_with},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Billing, Client, ErrorKind, Region, TaskRef};

async fn with_slots(slots: usize) -> (ScriptedServer, Client) {
    served_with(|builder| builder.max_active(slots)).await
}

/// Accepts submissions with new ids, and responds to polls with `Ready`.
fn serve(service: &ScriptedServer) {
    let (authority, delivery) = (service.authority(), samples::delivery_url(service));
    let count = std::sync::atomic::AtomicUsize::new(0);
    service.otherwise(move |request| {
        if request.method == "GET" {
            return Reply::json(200, &samples::ready_body(&delivery));
        }
        let id = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let polling_url = format!("http://{authority}/poll/{id}");
        Reply::json(200, &json!({ "id": id.to_string(), "polling_url": polling_url }))
    });
}

#[tokio::test(start_paused = true)]
async fn submitting_more_tasks_than_slots_before_waiting_does_not_hang() {
    let (service, client) = with_slots(2).await;
    serve(&service);
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.push(done(client.submit(fox())).await.unwrap());
    }
    for task in &tasks {
        let _ = task.wait().await.unwrap();
    }
    assert_eq!(service.posts().len(), 5);
}

/// Nobody polls the task of a wait that has not begun, and its deadline does not count yet.
#[tokio::test(start_paused = true)]
async fn waits_begin_when_they_are_polled() {
    let (service, client) = with_slots(2).await;
    serve(&service);
    let mut waits = Vec::new();
    for _ in 0..5 {
        waits.push(done(client.submit(fox())).await.unwrap().wait());
    }
    time::sleep(seconds(700)).await;
    for wait in waits {
        let _ = wait.await.unwrap();
    }
    assert_eq!(service.posts().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_task_is_active_until_a_poll_returns_a_final_status() {
    let (service, client) = with_slots(1).await;
    service.reply(samples::accepted(&service, "t1"));
    drop(client.submit(fox()).await.unwrap());
    service
        .reply(samples::status("Pending"))
        .reply(Reply::status(503))
        .reply(samples::status("Error"));
    service.reply(samples::accepted(&service, "t2"));
    let started = Instant::now();
    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t2");
    // After one second, and after two and four more.
    assert_eq!(started.elapsed().as_secs(), 7);
    service.assert_every_request_has_the_key();
}

#[tokio::test(start_paused = true)]
async fn a_task_with_an_active_wait_is_not_polled_for_its_slot() {
    let (service, client) = with_slots(1).await;
    service.reply(samples::accepted(&service, "t1"));
    let task = client.submit(fox()).await.unwrap();
    service.reply(samples::status("Pending"));
    let options = imagekiln::WaitOptions::default().interval(seconds(60)).max_interval(seconds(60));
    let wait = tokio::spawn(async move { task.wait_with(options).await });
    service.wait_for_requests(2).await;
    let second = tokio::spawn(async move { client.submit(fox()).await });
    time::sleep(seconds(20)).await;
    assert_eq!(service.polls().len(), 1);
    service.reply(ready(&service)).reply(samples::accepted(&service, "t2"));
    let _ = wait.await.unwrap().unwrap();
    assert_eq!(done(second).await.unwrap().unwrap().id(), "t2");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_task_frees_its_slot() {
    let (service, client) = with_slots(1).await;
    service.reply(samples::accepted(&service, "t1"));
    let reference = client.submit(fox()).await.unwrap().reference().clone();
    service.reply(ready(&service));
    client.clone().task(reference).poll().await.unwrap();
    // Without a polling URL, the task is polled by its id.
    service.reply(Reply::json(200, &json!({ "id": "t2" })));
    let _ = samples::try_submit(&client).await.unwrap();
    service.reply(samples::status("Error"));
    client.task_in(Region::Global, "t2").unwrap().poll().await.unwrap();
    service.reply(samples::accepted(&service, "t3"));
    let _ = samples::try_submit(&client).await.unwrap();
}

/// A faulty service may return the same task for several submissions.
#[tokio::test(start_paused = true)]
async fn two_submissions_with_the_same_task_hold_two_slots() {
    let (service, client) = with_slots(3).await;
    for _ in 0..2 {
        service.reply(samples::accepted(&service, "t1"));
        let _ = client.submit(fox()).await.unwrap();
    }
    // The same id at another polling URL, as in the other region.
    let elsewhere = service.url("/elsewhere/poll/t1");
    service.reply(Reply::json(200, &json!({ "id": "t1", "polling_url": elsewhere })));
    let other = client.submit(fox()).await.unwrap();
    assert_kind(&samples::try_submit(&client).await.unwrap_err(), ErrorKind::RateLimited);

    service.reply(ready(&service));
    other.poll().await.unwrap();
    service.reply(samples::accepted(&service, "t1"));
    let first = samples::try_submit(&client).await.unwrap();
    assert_kind(&samples::try_submit(&client).await.unwrap_err(), ErrorKind::RateLimited);

    service.reply(ready(&service));
    first.poll().await.unwrap();
    for id in ["t2", "t3", "t4"] {
        service.reply(samples::accepted(&service, id));
        let _ = samples::try_submit(&client).await.unwrap();
    }
    assert_kind(&samples::try_submit(&client).await.unwrap_err(), ErrorKind::RateLimited);
}

/// A wait for a task of the same id elsewhere does not poll the one that holds the slot.
#[tokio::test(start_paused = true)]
async fn a_slot_is_freed_although_a_task_with_the_same_id_is_waited_for() {
    let (service, client) = with_slots(1).await;
    service.reply(samples::accepted(&service, "t1"));
    drop(client.submit(fox()).await.unwrap());
    let elsewhere = TaskRef::new("t1", service.url("/elsewhere/poll/t1"), None);
    let elsewhere = client.task(elsewhere);
    let wait = tokio::spawn(async move { elsewhere.wait().await });
    let (body, authority) = (samples::delivery_url(&service), service.authority());
    service.otherwise(move |request| match &request.target {
        target if target.starts_with("/elsewhere") => samples::status("Pending"),
        target if target.starts_with("/poll") => Reply::json(200, &samples::ready_body(&body)),
        _ => {
            let polling_url = format!("http://{authority}/poll/t2");
            Reply::json(200, &json!({ "id": "t2", "polling_url": polling_url }))
        }
    });
    let started = Instant::now();
    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t2");
    assert!(started.elapsed() < seconds(60), "the slot is freed before the wait ends");
    wait.abort();
}

#[tokio::test(start_paused = true)]
async fn a_submission_that_may_not_wait_fails() {
    let (service, client) = with_slots(1).await;
    service.reply(samples::accepted(&service, "t1"));
    let _task = samples::try_submit(&client).await.unwrap();
    let error = samples::try_submit(&client).await.unwrap_err();
    assert_kind(&error, ErrorKind::RateLimited);
    assert_eq!((error.status(), error.billing()), (None, Billing::NotBilled));
    assert_eq!(service.received().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn slots_held_by_tasks_that_cannot_be_polled_are_an_error() {
    let (service, client) = with_slots(1).await;
    service.reply(Reply::json(
        200,
        &json!({ "id": "t1", "polling_url": "https://elsewhere.example/poll" }),
    ));
    let _ = client.submit(fox()).await.unwrap();
    let error = done(client.submit(fox())).await.unwrap_err();
    assert_billing(&error, ErrorKind::RateLimited, Billing::NotBilled);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("elsewhere.example"), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_for_a_slot_is_logged() {
    let events = Events::capture();
    let (service, client) = with_slots(1).await;
    service.reply(samples::accepted(&service, "t1"));
    let _ = client.submit(fox()).await.unwrap();
    service.otherwise(|_| samples::status("Pending"));
    assert!(time::timeout(seconds(9), client.submit(fox())).await.is_err());
    assert!(!events.text().contains("is waiting for a slot"));
    assert!(time::timeout(seconds(60), client.submit(fox())).await.is_err());
    assert_eq!(events.text().matches("is waiting for a slot").count(), 1);
    settle().await;
}
