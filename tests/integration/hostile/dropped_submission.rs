//! A caller that leaves does not cancel its submission: `drain` returns the accepted task.

use std::{pin::pin, time::Duration};

use tokio::{
    runtime::Runtime,
    time::{self, Instant},
};

use crate::support::{
    done,
    reply::Reply,
    samples::{self, assert_billing, assert_kind, client, fox, seconds, served, served_with},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Billing, ErrorKind, TaskRef};

#[tokio::test(start_paused = true)]
async fn a_dropped_submission_completes_and_its_task_is_drained() {
    let (service, client) = served().await;
    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err());
    rest.send(samples::accepted(&service, "t1").bytes());

    let tasks = client.drain(seconds(60)).await.unwrap();
    assert_eq!(tasks.iter().map(TaskRef::id).collect::<Vec<_>>(), ["t1"]);
    assert_eq!(service.posts().len(), 1);
    assert_eq!(client.drain(seconds(60)).await.unwrap(), [], "each task is returned once");
}

/// The outcome may already be on its way to the caller when the caller leaves.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_was_sent_and_not_received_is_drained() {
    let service = ScriptedServer::start().await;
    service.reply(samples::accepted(&service, "t1"));
    let client = client(&service);
    let mut submission = Box::pin(client.submit(fox()));
    assert!(futures_util::poll!(&mut submission).is_pending());
    settle().await;
    assert_eq!(client.drain(seconds(60)).await.unwrap(), [], "the caller may still receive it");
    drop(submission);

    let tasks = client.drain(seconds(60)).await.unwrap();
    assert_eq!(tasks.iter().map(TaskRef::id).collect::<Vec<_>>(), ["t1"]);
}

#[tokio::test(start_paused = true)]
async fn a_submission_in_flight_at_the_drain_deadline_is_unknown() {
    let (service, client) = served().await;
    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err());

    let started = Instant::now();
    let error = client.drain(seconds(7)).await.unwrap_err();
    assert_billing(&error, ErrorKind::Deadline, Billing::Unknown);
    assert_eq!(started.elapsed().as_secs(), 7);
    rest.send(samples::accepted(&service, "t1").bytes());
    assert_eq!(client.drain(seconds(7)).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_submission_is_not_retried() {
    let (service, client) = served().await;
    service.reply(Reply::status(429).header("Retry-After", "30"));
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err());
    let started = Instant::now();
    assert_eq!(client.drain(seconds(60)).await.unwrap(), []);
    assert!(started.elapsed() < seconds(1));
    time::sleep(seconds(300)).await;
    assert_eq!(service.posts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_submission_is_not_retried_after_the_client_was_told_to_stop() {
    let (service, client) = served().await;
    service.reply(Reply::status(429).header("Retry-After", "30"));
    let started = Instant::now();
    let submission = client.submit(fox());
    let stop = async {
        service.wait_for_requests(1).await;
        settle().await;
        client.stop_retrying_submissions();
    };
    let (outcome, ()) = done(async { tokio::join!(submission, stop) }).await;
    assert_kind(&outcome.unwrap_err(), ErrorKind::RateLimited);
    assert!(started.elapsed() < seconds(1));

    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    rest.send(samples::accepted(&service, "t1").bytes());
    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t1", "a first attempt is made");
    assert_eq!(service.posts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_caller_received_is_not_drained() {
    let (service, client) = served().await;
    service.reply(samples::accepted(&service, "t1")).reply(Reply::status(422));
    let _ = client.submit(fox()).await.unwrap();
    client.submit(fox()).await.unwrap_err();
    assert_eq!(client.drain(Duration::ZERO).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_submission_frees_its_slot_when_its_task_is_final() {
    let (service, client) = served_with(|builder| builder.max_active(1)).await;
    let (response, rest) = Reply::nothing().in_pieces();
    service.reply(response);
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err());
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err(), "the slot is in use");
    assert_eq!(service.posts().len(), 1);
    rest.send(samples::accepted(&service, "t1").bytes());
    // The task is active until a poll returns a final status, and nothing else polls it.
    service.reply(samples::ready(&service)).reply(samples::accepted(&service, "t2"));
    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t2");
}

/// The submission runs on the runtime of its caller.
#[tokio::test]
async fn a_submission_cancelled_by_a_runtime_shutdown_is_unknown() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::silence());
    let runtime = Runtime::new().unwrap();
    let client = client(&service);
    let mut submission = pin!(client.submit(fox()));
    {
        let _entered = runtime.enter();
        assert!(futures_util::poll!(&mut submission).is_pending());
    }
    service.wait_for_requests(1).await;
    runtime.shutdown_background();
    let error = done(submission).await.unwrap_err();
    assert_billing(&error, ErrorKind::Network, Billing::Unknown);
    settle().await;
}

/// A wait does not borrow its task.
#[tokio::test(start_paused = true)]
async fn a_wait_can_be_spawned_and_repeated() {
    let (service, client) = served().await;
    service.reply(Reply::status(401)).reply(samples::ready(&service));
    let task = samples::task(&client, &service);
    let failed = tokio::spawn(task.wait());
    failed.await.unwrap().unwrap_err();
    assert_eq!(tokio::spawn(task.wait()).await.unwrap().unwrap().task().id(), "t1");
}
