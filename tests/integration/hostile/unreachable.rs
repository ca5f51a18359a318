//! An unreachable service: nothing was sent, so the client retries the submission.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    time::{self, Instant},
};

use crate::support::{
    reply::Reply,
    samples::{self, KEY, PNG, assert_billing, assert_kind, fox, seconds},
    scripted::ScriptedServer,
};
use imagekiln::{Billing, Client, ErrorKind, Region};
use imagekiln_testbed::ClosedPort;

fn client_of(port: &ClosedPort) -> Client {
    Client::builder().api_key(KEY).base_url(port.url()).random_seed(7).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_is_retried_and_not_billed() {
    let port = ClosedPort::reserve();
    let client = client_of(&port);
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_billing(&error, ErrorKind::Network, Billing::NotBilled);
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    // Five delays that double from 500 ms, each with jitter in its second half.
    let waited = started.elapsed();
    assert!(waited > seconds(15) / 2 && waited <= seconds(16), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_becomes_reachable_receives_one_submission() {
    let port = ClosedPort::reserve();
    let client = client_of(&port);
    let started = Instant::now();
    let submission = tokio::spawn(async move { client.submit(fox()).await });

    // After the first attempt was refused and before the second one.
    tokio::time::sleep(seconds(1) / 10).await;
    let service = ScriptedServer::on(port.listen());
    service.reply(samples::accepted(&service, "t1"));

    assert_eq!(submission.await.unwrap().unwrap().id(), "t1");
    assert!(started.elapsed() >= seconds(1) / 4, "the first attempt was not refused");
    service.only_request().assert_has_key();
}

#[tokio::test(start_paused = true)]
async fn submissions_of_a_client_share_a_retry_budget() {
    let port = ClosedPort::reserve();
    let client = client_of(&port);
    let concurrent = (0..60).map(|_| client.submit(fox()));
    futures_util::future::join_all(concurrent).await.into_iter().for_each(|outcome| {
        outcome.unwrap_err();
    });
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_kind(&error, ErrorKind::Network);
    assert!(
        started.elapsed() < seconds(4),
        "the retry budget was not exhausted: {:?}",
        started.elapsed()
    );

    time::advance(seconds(200)).await;
    let started = Instant::now();
    client.submit(fox()).await.unwrap_err();
    assert!(
        started.elapsed() > seconds(7),
        "the retry budget was not refilled: {:?}",
        started.elapsed()
    );
}

/// Every purpose has a separate budget, so submissions do not use the retries of downloads.
#[tokio::test(start_paused = true)]
async fn refused_submissions_do_not_use_the_retries_of_downloads() {
    let (service, delivery) = (ScriptedServer::start().await, ScriptedServer::start().await);
    let client = samples::client(&service);
    let picture = samples::picture(&client, &service, &delivery).await;
    service.otherwise(|_| Reply::json(429, &json!({})));
    let concurrent = (0..60).map(|_| client.submit(fox()));
    futures_util::future::join_all(concurrent).await.into_iter().for_each(|outcome| {
        outcome.unwrap_err();
    });
    delivery.reply(Reply::html(503)).reply(Reply::reset()).reply(Reply::png(PNG));

    assert_eq!(picture.bytes().await.unwrap(), PNG);
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_polling_host_is_retried_until_the_deadline() {
    let port = ClosedPort::reserve();
    let client = client_of(&port);
    let task = client.task_in(Region::Global, "t1").unwrap();

    let error = task.wait_with(samples::deadline(20)).await.unwrap_err();

    assert_kind(&error, ErrorKind::Deadline);
    let cause =
        std::error::Error::source(&error).unwrap().downcast_ref::<imagekiln::Error>().unwrap();
    assert_eq!(cause.kind(), ErrorKind::Network);
}

/// A port that speaks HTTP and not TLS will not speak it at the next attempt, either.
#[tokio::test(start_paused = true)]
async fn a_port_without_tls_is_not_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&connections);
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            stream.read_to_end(&mut Vec::new()).await.ok();
        }
    });
    let client = Client::builder().api_key(KEY).base_url(&base).build().unwrap();

    let error = client.submit(fox()).await.unwrap_err();

    assert_billing(&error, ErrorKind::Network, Billing::NotBilled);
    assert!(error.message().contains("could not establish a TLS connection"), "{error:?}");
    assert_eq!(connections.load(Ordering::Relaxed), 1);
    server.abort();
}
