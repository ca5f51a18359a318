//! A service that can't be reached: nothing was sent, so the submission may be tried again.

use imagekiln::{Client, ErrorKind};
use tokio::{net::TcpSocket, time::Instant};

use crate::support::{
    samples::{self, KEY, assert_kind, fox, seconds},
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
    for _ in 0..10 {
        client.submit(fox()).await.unwrap_err();
    }
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert_eq!(started.elapsed(), seconds(0), "fifty retries were spent before");
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_reaches_nobody_is_tried_until_the_deadline() {
    let (_socket, client) = closed_port();
    let task = client.task_by_id("t1");

    let error = task.wait_with(samples::deadline(20)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    let cause = std::error::Error::source(&error).unwrap().downcast_ref::<imagekiln::Error>().unwrap();
    assert_eq!(cause.kind(), ErrorKind::Network);
}
