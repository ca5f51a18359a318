//! Responses that never end, and polls that hang: nothing blocks forever, and healthy tasks are not
//! delayed.

use std::time::Duration;

use tokio::time::{self, Instant};

use crate::support::{
    reply::{Pieces, Reply},
    samples::{self, assert_kind, client, fox, ready, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, Client, ErrorKind};

/// Sends a byte every 200 ms until it is dropped.
async fn drip(pieces: Pieces) {
    loop {
        time::sleep(Duration::from_millis(200)).await;
        pieces.send(" ");
    }
}

async fn submit_while_dripping(
    client: &Client,
    pieces: Pieces,
) -> Result<imagekiln::Task, imagekiln::Error> {
    tokio::select! {
        outcome = client.submit(fox()) => outcome,
        () = drip(pieces) => unreachable!("the response never ends"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_dripping_response_fails_and_is_unknown() {
    let service = ScriptedServer::start().await;
    let (reply, pieces) = Reply::status(200).body("{").declaring_length(1_000_000).in_pieces();
    service.reply(reply);
    let started = Instant::now();

    let error = submit_while_dripping(&client(&service), pieces).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert_eq!(error.billing(), Billing::Unknown);
    assert_eq!(started.elapsed().as_secs(), 240);
}

#[tokio::test(start_paused = true)]
async fn a_dripping_response_with_an_id_is_a_task() {
    let service = ScriptedServer::start().await;
    let (reply, pieces) =
        Reply::status(200).body("{\"id\":\"t1\",").declaring_length(1_000_000).in_pieces();
    service.reply(reply);

    let task = submit_while_dripping(&client(&service), pieces).await.unwrap();

    assert_eq!(task.id(), "t1");
}

#[tokio::test(start_paused = true)]
async fn a_dripping_refusal_is_a_refusal() {
    let service = ScriptedServer::start().await;
    let (reply, pieces) = Reply::status(403).body("{").declaring_length(1_000_000).in_pieces();
    service.reply(reply);

    let error = submit_while_dripping(&client(&service), pieces).await.unwrap_err();

    assert_kind(&error, ErrorKind::Auth);
    assert_ne!(error.billing(), Billing::Unknown);
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

    assert_kind(&error, ErrorKind::Response);
    assert_eq!(error.billing(), Billing::Unknown);
}

/// Returns how long the poll of a healthy task takes while eight others hang, with this limit on
/// concurrent polls.
async fn delay_beside_hung_polls(limit: usize) -> Duration {
    let service = ScriptedServer::start().await;
    service.otherwise(|request| {
        if request.target.contains("hung") { Reply::silence() } else { samples::status("Pending") }
    });
    let client = samples::builder(&service).max_concurrent_polls(limit).build().unwrap();
    let task = |id: &str| {
        let url = samples::polling_url(&service, id);
        client.task(imagekiln::TaskRef::new(id, url, None))
    };
    let hung: Vec<_> = (0..8)
        .map(|index| {
            let task = task(&format!("hung-{index}"));
            tokio::spawn(async move { task.wait().await })
        })
        .collect();
    service.wait_for_heads(limit).await;
    let started = Instant::now();
    task("healthy").poll().await.unwrap();
    hung.into_iter().for_each(|wait| wait.abort());
    started.elapsed()
}

/// A hung poll frees its permit long before it times out.
#[tokio::test(start_paused = true)]
async fn hung_polls_do_not_delay_a_healthy_task() {
    let delay = delay_beside_hung_polls(8).await;
    assert!(delay <= seconds(2), "{delay:?}");
}

/// Even if the polls share a single permit.
#[tokio::test(start_paused = true)]
async fn hung_polls_do_not_delay_a_healthy_task_with_a_limit_of_one() {
    let delay = delay_beside_hung_polls(1).await;
    assert!(delay <= seconds(16), "{delay:?}");
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
