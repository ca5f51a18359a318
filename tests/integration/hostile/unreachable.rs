//! A service that can't be reached: nothing was sent, so the submission may be tried again.

use imagekiln::{Client, ErrorKind, Region};
use serde_json::json;
use tokio::{
    net::TcpSocket,
    time::{self, Instant},
};

use crate::support::{
    answer::Answer,
    samples::{self, KEY, PNG, assert_kind, fox, seconds},
    scripted::ScriptedServer,
};

/// A port that is ours, and where nobody listens.
fn closed_port() -> (TcpSocket, Client) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let base = format!("http://{}", socket.local_addr().unwrap());
    let client = Client::builder().api_key(KEY).base_url(base).random_seed(7).build().unwrap();
    (socket, client)
}

#[tokio::test(start_paused = true)]
async fn nobody_listening_is_tried_so_often_and_not_billed() {
    let (_socket, client) = closed_port();
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert!(!error.may_have_been_billed());
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    // Five delays, doubled from half a second, each spread over its last half.
    let waited = started.elapsed();
    assert!(waited > seconds(15) / 2 && waited <= seconds(16), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_comes_up_gets_the_submission_once() {
    let (socket, client) = closed_port();
    let started = Instant::now();
    let submission = tokio::spawn(async move { client.submit(fox()).await });

    // By the clock of both: after the first attempt was refused, and before the second.
    tokio::time::sleep(seconds(1) / 10).await;
    let service = ScriptedServer::on(socket.listen(16).unwrap());
    service.answer(samples::accepted(&service, "t1"));

    assert_eq!(submission.await.unwrap().unwrap().id(), "t1");
    assert!(started.elapsed() >= seconds(1) / 4, "the first attempt was not refused");
    service.only_request().assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn the_budget_of_retries_is_shared_by_the_submissions_of_a_client() {
    let (_socket, client) = closed_port();
    let side_by_side = (0..60).map(|_| client.submit(fox()));
    futures_util::future::join_all(side_by_side).await.into_iter().for_each(|outcome| {
        outcome.unwrap_err();
    });
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert!(started.elapsed() < seconds(4), "so many retries were left: {:?}", started.elapsed());

    time::advance(seconds(200)).await;
    let started = Instant::now();
    client.submit(fox()).await.unwrap_err();
    assert!(
        started.elapsed() > seconds(7),
        "time did not give the retries back: {:?}",
        started.elapsed()
    );
}

/// Each purpose has its own budget: what submissions spend, a paid picture does not pay for.
#[tokio::test(start_paused = true)]
async fn refused_submissions_do_not_cost_a_download_its_retries() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::client(&service);
    let picture = samples::picture(&client, &service, &delivery).await;
    service.otherwise(|_| Answer::json(429, &json!({})));
    let side_by_side = (0..60).map(|_| client.submit(fox()));
    futures_util::future::join_all(side_by_side).await.into_iter().for_each(|outcome| {
        outcome.unwrap_err();
    });
    delivery.answer(Answer::html(503)).answer(Answer::reset()).answer(Answer::png(PNG));

    assert_eq!(picture.bytes().await.unwrap(), PNG);
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_reaches_nobody_is_tried_until_the_deadline() {
    let (_socket, client) = closed_port();
    let task = client.task_in(Region::Global, "t1").unwrap();

    let error = task.wait_with(samples::deadline(20)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    let cause =
        std::error::Error::source(&error).unwrap().downcast_ref::<imagekiln::Error>().unwrap();
    assert_eq!(cause.kind(), ErrorKind::Network);
}
