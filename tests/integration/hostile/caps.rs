//! The caps on active tasks and on polls under way.

use futures_util::StreamExt;
use imagekiln::{Client, ErrorKind, Task, WaitOptions};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::{
    answer::Answer,
    done,
    samples::{self, assert_kind, fox, ready},
    scripted::ScriptedServer,
    settle,
};

fn one_task_at_a_time(service: &ScriptedServer) -> Client {
    samples::builder(service).max_active_tasks(1).build().unwrap()
}

fn submit_beside(client: &Client) -> JoinHandle<Task> {
    let client = client.clone();
    tokio::spawn(async move { client.submit(fox()).await.unwrap() })
}

fn methods(service: &ScriptedServer) -> Vec<String> {
    service.received().into_iter().map(|request| request.method).collect()
}

#[tokio::test(start_paused = true)]
async fn a_second_submission_waits_for_the_first_task_to_be_final() {
    for last in ["Ready", "Error", "Content Moderated"] {
        let service = ScriptedServer::start().await;
        service.answer(samples::accepted(&service, "t1"));
        let client = one_task_at_a_time(&service);
        let first = client.submit(fox()).await.unwrap();
        let second = submit_beside(&client);
        settle().await;
        assert_eq!(methods(&service), ["POST"]);

        service.answer(samples::status("Pending"));
        service.answer(if last == "Ready" { ready(&service) } else { samples::status(last) });
        service.answer(samples::accepted(&service, "t2"));
        let waited = first.wait().await;

        assert_eq!(waited.is_ok(), last == "Ready");
        assert_eq!(done(second).await.unwrap().id(), "t2");
        assert_eq!(methods(&service), ["POST", "GET", "GET", "POST"]);
        service.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_poll_and_a_stream_of_updates_free_the_slot_too() {
    let service = ScriptedServer::start().await;
    service
        .answer(samples::accepted(&service, "t1"))
        .answer(ready(&service))
        .answer(samples::accepted(&service, "t2"))
        .answer(ready(&service))
        .answer(samples::accepted(&service, "t3"));
    let client = one_task_at_a_time(&service);

    let first = client.submit(fox()).await.unwrap();
    first.poll().await.unwrap();
    let second = done(client.submit(fox())).await.unwrap();
    second.updates(WaitOptions::default()).next().await.unwrap().unwrap();
    let third = done(client.submit(fox())).await.unwrap();

    assert_eq!((first.id(), second.id(), third.id()), ("t1", "t2", "t3"));
}

#[tokio::test(start_paused = true)]
async fn a_submission_that_fails_frees_its_slot() {
    let service = ScriptedServer::start().await;
    service
        .answer(Answer::json(403, &json!({})))
        .answer(Answer::reset())
        .answer(samples::accepted(&service, "t1"));
    let client = one_task_at_a_time(&service);
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::Auth);
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::Network);

    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t1");
}

/// While a submission waits to be sent again it holds its slot: it is the one that is active.
#[tokio::test(start_paused = true)]
async fn a_submission_that_is_sent_again_keeps_its_slot() {
    let service = ScriptedServer::start().await;
    service
        .answer(Answer::json(429, &json!({})).header("Retry-After", "60"))
        .answer(samples::accepted(&service, "t1"));
    let client = one_task_at_a_time(&service);
    let first = submit_beside(&client);
    service.wait_for_requests(1).await;
    let second = submit_beside(&client);

    let first = first.await.unwrap();
    settle().await;

    assert_eq!(first.id(), "t1");
    assert_eq!(service.posts().len(), 2);
    second.abort();
}

/// Two tasks poll side by side; returns how many polls were under way at once.
async fn polls_at_once(cap: usize) -> usize {
    let service = ScriptedServer::start().await;
    let client = samples::builder(&service).max_concurrent_polls(cap).build().unwrap();
    let mut open = Vec::new();
    for _ in 0..4 {
        let (answer, pieces) = Answer::nothing().in_pieces();
        service.answer(answer);
        open.push(pieces);
    }
    let waits: Vec<_> = (0..2)
        .map(|_| {
            let task = samples::task(&client, &service);
            tokio::spawn(async move { task.wait().await })
        })
        .collect();
    settle().await;
    let at_once = service.polls().len();

    // The first two polls see that it is pending, the next two that it is ready.
    for (answered, pieces) in open.into_iter().enumerate() {
        let answer = if answered < 2 { samples::status("Pending") } else { ready(&service) };
        service.wait_for_requests(answered + 1).await;
        settle().await;
        assert!(
            service.polls().len() <= answered + cap,
            "{} polls, {answered} answered",
            service.polls().len()
        );
        pieces.send(answer.bytes());
    }
    for wait in waits {
        let _ = wait.await.unwrap().unwrap();
    }
    service.assert_every_request_has_the_key();
    at_once
}

#[tokio::test(start_paused = true)]
async fn polls_take_turns_under_a_cap_of_one() {
    assert_eq!(polls_at_once(1).await, 1);
}

#[tokio::test(start_paused = true)]
async fn polls_run_side_by_side_under_a_cap_of_two() {
    assert_eq!(polls_at_once(2).await, 2);
}
