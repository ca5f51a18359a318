//! Responses that never stop coming, and polls that hang: nothing blocks for ever, and no healthy
//! task waits for them.

use std::time::Duration;

use imagekiln::{Client, ErrorKind};
use tokio::time::{self, Instant};

use crate::support::{
    answer::{Answer, Pieces},
    samples::{self, assert_kind, client, fox, ready, seconds},
    scripted::ScriptedServer,
};

/// Sends a byte every 200 ms until it is dropped.
async fn drip(pieces: Pieces) {
    loop {
        time::sleep(Duration::from_millis(200)).await;
        pieces.send(" ");
    }
}

async fn submit_while_it_drips(
    client: &Client,
    pieces: Pieces,
) -> Result<imagekiln::Task, imagekiln::Error> {
    tokio::select! {
        outcome = client.submit(fox()) => outcome,
        () = drip(pieces) => unreachable!("it drips for ever"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_drips_is_given_up_and_unknown() {
    let service = ScriptedServer::start().await;
    let (answer, pieces) = Answer::status(200).body("{").declaring_length(1_000_000).in_pieces();
    service.answer(answer);
    let started = Instant::now();

    let error = submit_while_it_drips(&client(&service), pieces).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert!(error.may_have_been_billed());
    assert_eq!(started.elapsed().as_secs(), 240);
}

#[tokio::test(start_paused = true)]
async fn a_response_that_drips_behind_its_id_is_a_task() {
    let service = ScriptedServer::start().await;
    let (answer, pieces) =
        Answer::status(200).body("{\"id\":\"t1\",").declaring_length(1_000_000).in_pieces();
    service.answer(answer);

    let task = submit_while_it_drips(&client(&service), pieces).await.unwrap();

    assert_eq!(task.id(), "t1");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_drips_is_a_refusal() {
    let service = ScriptedServer::start().await;
    let (answer, pieces) = Answer::status(403).body("{").declaring_length(1_000_000).in_pieces();
    service.answer(answer);

    let error = submit_while_it_drips(&client(&service), pieces).await.unwrap_err();

    assert_kind(&error, ErrorKind::Auth);
    assert!(!error.may_have_been_billed());
}

#[tokio::test(start_paused = true)]
async fn a_response_without_end_is_given_up_before_it_fills_the_memory() {
    let service = ScriptedServer::start().await;
    let (answer, pieces) = Answer::status(200).body("{\"x\":\"").until_close().in_pieces();
    service.answer(answer);
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
        () = flood => unreachable!("it floods for ever"),
    };

    assert_kind(&error, ErrorKind::Reply);
    assert!(error.may_have_been_billed());
}

/// Eight tasks hang. How long a healthy one waits for its poll under this cap on polls.
async fn delay_beside_hung_polls(cap: usize) -> Duration {
    let service = ScriptedServer::start().await;
    service.otherwise(|request| match request.target.contains("hung") {
        true => Answer::silence(),
        false => samples::status("Pending"),
    });
    let client = samples::builder(&service).max_concurrent_polls(cap).build().unwrap();
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
    service.wait_for_heads(cap).await;
    let started = Instant::now();
    task("healthy").poll().await.unwrap();
    hung.into_iter().for_each(|wait| wait.abort());
    started.elapsed()
}

/// The limit of a poll, and the turn that it holds, are two things: hung polls keep no turn.
#[tokio::test(start_paused = true)]
async fn hung_polls_do_not_delay_a_healthy_task() {
    let delay = delay_beside_hung_polls(8).await;
    assert!(delay <= seconds(2), "{delay:?}");
}

/// Also if there is one turn for all of them.
#[tokio::test(start_paused = true)]
async fn hung_polls_do_not_delay_a_healthy_task_under_a_cap_of_one() {
    let delay = delay_beside_hung_polls(1).await;
    assert!(delay <= seconds(16), "{delay:?}");
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_hangs_is_followed_by_one_on_another_connection() {
    let service = ScriptedServer::start().await;
    service.answer(samples::status("Pending")).answer(Answer::silence()).answer(ready(&service));
    let client = client(&service);

    let _ = samples::task(&client, &service).wait().await.unwrap();

    let connections: Vec<_> = service.polls().iter().map(|poll| poll.connection).collect();
    assert_eq!(connections, [1, 1, 2]);
}
