//! A caller that leaves does not cut its submission: what was accepted is found by `drain`.

use std::{pin::pin, time::Duration};

use imagekiln::{Billing, ErrorKind, TaskRef};
use tokio::{
    runtime::Runtime,
    time::{self, Instant},
};

use crate::support::{
    answer::Answer,
    done,
    samples::{self, assert_kind, client, fox, seconds},
    scripted::ScriptedServer,
    settle,
};

#[tokio::test(start_paused = true)]
async fn comes_to_its_end_and_its_task_is_drained() {
    let service = ScriptedServer::start().await;
    let client = client(&service);
    let (response, rest) = Answer::nothing().in_pieces();
    service.answer(response);
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err());
    rest.send(samples::accepted(&service, "t1").bytes());

    let tasks = client.drain(seconds(60)).await.unwrap();
    assert_eq!(tasks.iter().map(TaskRef::id).collect::<Vec<_>>(), ["t1"]);
    assert_eq!(service.posts().len(), 1);
    assert_eq!(client.drain(seconds(60)).await.unwrap(), [], "each task is returned once");
}

#[tokio::test(start_paused = true)]
async fn that_is_still_under_way_at_the_deadline_is_unknown() {
    let service = ScriptedServer::start().await;
    let client = client(&service);
    let (response, rest) = Answer::nothing().in_pieces();
    service.answer(response);
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err());

    let started = Instant::now();
    let error = client.drain(seconds(7)).await.unwrap_err();
    assert_kind(&error, ErrorKind::Deadline);
    assert_eq!(error.billing(), Billing::Unknown);
    assert_eq!(started.elapsed().as_secs(), 7);
    rest.send(samples::accepted(&service, "t1").bytes());
    assert_eq!(client.drain(seconds(7)).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn that_was_not_taken_is_not_sent_again() {
    let service = ScriptedServer::start().await;
    let client = client(&service);
    service.answer(Answer::status(429).header("Retry-After", "30"));
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err());
    let started = Instant::now();
    assert_eq!(client.drain(seconds(60)).await.unwrap(), []);
    assert!(started.elapsed() < seconds(1));
    time::sleep(seconds(300)).await;
    assert_eq!(service.posts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn is_not_drained_if_the_caller_has_its_task() {
    let service = ScriptedServer::start().await;
    let client = client(&service);
    service.answer(samples::accepted(&service, "t1")).answer(Answer::status(422));
    let _ = client.submit(fox()).await.unwrap();
    client.submit(fox()).await.unwrap_err();
    assert_eq!(client.drain(Duration::ZERO).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn gives_its_slot_back_when_its_task_is_final() {
    let service = ScriptedServer::start().await;
    let client = samples::builder(&service).max_active_tasks(1).build().unwrap();
    let (response, rest) = Answer::nothing().in_pieces();
    service.answer(response);
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err());
    assert!(time::timeout(seconds(5), client.submit(fox())).await.is_err(), "the slot is taken");
    assert_eq!(service.posts().len(), 1);
    rest.send(samples::accepted(&service, "t1").bytes());
    // It is active until a poll says otherwise, and nobody else polls it.
    service.answer(samples::ready(&service)).answer(samples::accepted(&service, "t2"));
    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t2");
}

/// The submission runs on the runtime of its caller.
#[tokio::test]
async fn that_is_cut_by_the_end_of_its_runtime_is_unknown() {
    let service = ScriptedServer::start().await;
    service.answer(Answer::silence());
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
    assert_kind(&error, ErrorKind::Network);
    assert_eq!(error.billing(), Billing::Unknown);
    settle().await;
}
