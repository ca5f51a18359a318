//! The limits on active tasks and on concurrent polls.

use futures_util::StreamExt;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::{
    done,
    reply::Reply,
    samples::{self, assert_kind, fox, ready, served_with},
    scripted::ScriptedServer,
    settle,
};
use imagekiln::{Client, ErrorKind, Task, WaitOptions};

fn one_task_at_a_time(service: &ScriptedServer) -> Client {
    samples::builder(service).max_active(1).build().unwrap()
}

fn submit_concurrently(client: &Client) -> JoinHandle<Task> {
    let client = client.clone();
    tokio::spawn(async move { client.submit(fox()).await.unwrap() })
}

fn methods(service: &ScriptedServer) -> Vec<String> {
    service.received().into_iter().map(|request| request.method).collect()
}

#[tokio::test(start_paused = true)]
async fn a_submission_waits_until_the_active_task_is_final() {
    for last in ["Ready", "Error", "Content Moderated"] {
        let service = ScriptedServer::start().await;
        service.reply(samples::accepted(&service, "t1"));
        let client = one_task_at_a_time(&service);
        let first = client.submit(fox()).await.unwrap();
        let second = submit_concurrently(&client);
        settle().await;
        assert_eq!(methods(&service), ["POST"]);

        service.reply(samples::status("Pending"));
        service.reply(if last == "Ready" { ready(&service) } else { samples::status(last) });
        service.reply(samples::accepted(&service, "t2"));
        let waited = first.wait().await;

        assert_eq!(waited.is_ok(), last == "Ready");
        assert_eq!(done(second).await.unwrap().id(), "t2");
        assert_eq!(methods(&service), ["POST", "GET", "GET", "POST"]);
        service.assert_every_request_has_the_key();
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_poll_and_a_stream_of_updates_free_the_slot() {
    let service = ScriptedServer::start().await;
    service
        .reply(samples::accepted(&service, "t1"))
        .reply(ready(&service))
        .reply(samples::accepted(&service, "t2"))
        .reply(ready(&service))
        .reply(samples::accepted(&service, "t3"));
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
        .reply(Reply::json(403, &json!({})))
        .reply(Reply::reset())
        .reply(samples::accepted(&service, "t1"));
    let client = one_task_at_a_time(&service);
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::Auth);
    assert_kind(&client.submit(fox()).await.unwrap_err(), ErrorKind::Network);

    assert_eq!(done(client.submit(fox())).await.unwrap().id(), "t1");
}

/// A submission keeps its slot while it waits for a retry.
#[tokio::test(start_paused = true)]
async fn a_retried_submission_keeps_its_slot() {
    let service = ScriptedServer::start().await;
    service
        .reply(Reply::json(429, &json!({})).header("Retry-After", "60"))
        .reply(samples::accepted(&service, "t1"));
    let client = one_task_at_a_time(&service);
    let first = submit_concurrently(&client);
    service.wait_for_requests(1).await;
    let second = submit_concurrently(&client);

    let first = first.await.unwrap();
    settle().await;

    assert_eq!(first.id(), "t1");
    assert_eq!(service.posts().len(), 2);
    second.abort();
}

#[tokio::test(start_paused = true)]
async fn as_many_polls_run_concurrently_as_the_limit_allows() {
    for limit in [1, 2] {
        let (service, client) = served_with(|builder| builder.max_concurrent_polls(limit)).await;
        let mut open = Vec::new();
        for _ in 0..4 {
            let (reply, pieces) = Reply::nothing().in_pieces();
            service.reply(reply);
            open.push(pieces);
        }
        let waits = [(); 2].map(|()| {
            let task = samples::task(&client, &service);
            tokio::spawn(async move { task.wait().await })
        });
        settle().await;
        assert_eq!(service.polls().len(), limit);

        // The first two polls return `Pending`, the other two return `Ready`.
        for (replied, pieces) in open.into_iter().enumerate() {
            let reply = if replied < 2 { samples::status("Pending") } else { ready(&service) };
            service.wait_for_requests(replied + 1).await;
            settle().await;
            let polls = service.polls().len();
            assert!(polls <= replied + limit, "limit {limit}: {polls} polls, {replied} replies");
            pieces.send(reply.bytes());
        }
        for wait in waits {
            let _ = wait.await.unwrap().unwrap();
        }
        service.assert_every_request_has_the_key();
    }
}
