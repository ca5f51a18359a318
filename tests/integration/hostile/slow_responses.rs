//! Responses that never end, and polls that hang: nothing blocks forever, and healthy tasks are not
//! delayed.

use std::time::Duration;

use tokio::time::{self, Instant};

use crate::support::{
    reply::Reply,
    samples::{self, assert_billing, assert_kind, client, fox, ready, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, Error, ErrorKind, Task, TaskRef};

/// Submits, and receives a byte of the response every 200 ms until the submission ends.
async fn submit_while_dripping(reply: Reply) -> Result<Task, Error> {
    let service = ScriptedServer::start().await;
    let (reply, pieces) = reply.declaring_length(1_000_000).in_pieces();
    service.reply(reply);
    let client = client(&service);
    let drip = async {
        loop {
            time::sleep(Duration::from_millis(200)).await;
            pieces.send(" ");
        }
    };
    tokio::select! {
        outcome = client.submit(fox()) => outcome,
        () = drip => unreachable!("the response never ends"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_dripping_response_ends_and_is_read_up_to_there() {
    let started = Instant::now();
    let error = submit_while_dripping(Reply::status(200).body("{")).await.unwrap_err();
    assert_billing(&error, ErrorKind::Network, Billing::Unknown);
    assert_eq!(started.elapsed().as_secs(), 240);

    let with_id = Reply::status(200).body("{\"id\":\"t1\",");
    assert_eq!(submit_while_dripping(with_id).await.unwrap().id(), "t1");

    let refusal = submit_while_dripping(Reply::status(403).body("{")).await.unwrap_err();
    assert_kind(&refusal, ErrorKind::Auth);
    assert_eq!(refusal.billing(), Billing::NotBilled);
}

#[tokio::test(start_paused = true)]
async fn an_endless_response_uses_bounded_memory() {
    let service = ScriptedServer::start().await;
    let (reply, pieces) = Reply::status(200).body("{\"x\":\"").until_close().in_pieces();
    service.reply(reply);
    let flood = async {
        let megabyte = vec![b'y'; 1_000_000];
        for _ in 0..200 {
            pieces.send(&megabyte);
            time::sleep(Duration::from_millis(1)).await;
        }
        std::future::pending::<()>().await;
    };
    let client = client(&service);

    let error = tokio::select! {
        outcome = client.submit(fox()) => outcome.unwrap_err(),
        () = flood => unreachable!("the response never ends"),
    };

    assert_billing(&error, ErrorKind::Response, Billing::Unknown);
}

/// A hung poll frees its permit long before it times out, even if all polls share one.
#[tokio::test(start_paused = true)]
async fn hung_polls_do_not_delay_a_healthy_task() {
    for (limit, longest) in [(8, seconds(2)), (1, seconds(16))] {
        let service = ScriptedServer::start().await;
        service.otherwise(|request| {
            let is_hung = request.target.contains("hung");
            if is_hung { Reply::silence() } else { samples::status("Pending") }
        });
        let client = samples::builder(&service).max_concurrent_polls(limit).build().unwrap();
        let task =
            |id: &str| client.task(TaskRef::new(id, samples::polling_url(&service, id), None));
        let hung: Vec<_> = (0..8)
            .map(|index| {
                let task = task(&format!("hung-{index}"));
                tokio::spawn(async move { task.wait().await })
            })
            .collect();
        service.wait_for_heads(limit).await;
        let started = Instant::now();
        task("healthy").poll().await.unwrap();
        assert!(started.elapsed() <= longest, "limit {limit}: {:?}", started.elapsed());
        hung.into_iter().for_each(|wait| wait.abort());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hung_poll_is_followed_by_one_on_another_connection() {
    let service = ScriptedServer::start().await;
    service.reply(samples::status("Pending")).reply(Reply::silence()).reply(ready(&service));
    let client = client(&service);

    let _ = samples::task(&client, &service).wait().await.unwrap();

    let connections: Vec<_> = service.polls().iter().map(|poll| poll.connection).collect();
    assert_eq!(connections, [1, 1, 2]);
}
