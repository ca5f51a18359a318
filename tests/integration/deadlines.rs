//! Deadlines of submissions: they bound everything until the request is sent, and the wait for the
//! response a little longer.

use serde_json::json;
use tokio::{net::TcpListener, time::Instant};

use crate::support::{
    done, hold_clock,
    reply::Reply,
    samples::{
        self, accepted, assert_billing, assert_kind, builder, fox, large_png, seconds, served,
        served_with,
    },
    scripted::ScriptedServer,
};
use imagekiln::{Billing, Client, Error, ErrorKind, SubmitOptions};
use imagekiln_testbed::ClosedPort;

/// The deadline of each submission, which is shorter than all other limits.
fn soon() -> SubmitOptions {
    SubmitOptions::default().deadline(seconds(8))
}

/// Submits with a deadline of 8 seconds, which nothing sends. Returns the error and the duration.
async fn not_sent(client: &Client) -> (Error, u64) {
    let started = Instant::now();
    let error = client.submit_with(fox(), soon()).await.unwrap_err();
    assert_eq!(error.billing(), Billing::NotBilled);
    assert!(error.advice().unwrap().contains("nothing was"), "{error}");
    (error, started.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_submission_continues_after_its_deadline() {
    let (service, client) = served_with(|builder| builder.submit_deadline(seconds(5))).await;
    let (reply, pieces) = Reply::nothing().in_pieces();
    service.reply(reply);
    let started = Instant::now();

    let error = client.submit(fox()).await.unwrap_err();

    assert_eq!(started.elapsed().as_secs(), 10, "the deadline and the grace");
    assert_billing(&error, ErrorKind::Deadline, Billing::Unknown);
    insta::assert_snapshot!(error);
    pieces.send(accepted(&service, "t1").bytes());
    let left = done(client.drain(seconds(60))).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].id(), "t1");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_includes_the_wait_for_a_slot() {
    let service = ScriptedServer::start().await;
    let client = builder(&service).max_active(1).submit_deadline(seconds(5)).build().unwrap();
    service.reply(accepted(&service, "t1")).otherwise(|_| samples::status("Pending"));
    let _task = client.submit(fox()).await.unwrap();

    let error = client.submit(fox()).await.unwrap_err();

    assert_billing(&error, ErrorKind::Deadline, Billing::NotBilled);
    assert_eq!(service.posts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_closed_port_is_tried_until_the_deadline() {
    let port = ClosedPort::reserve();
    let client = Client::builder().api_key("a-key").base_url(port.url()).random_seed(7);
    let (error, waited) = not_sent(&client.build().unwrap()).await;
    assert_kind(&error, ErrorKind::Network);
    assert!((4..8).contains(&waited), "{waited}");
}

/// The server never responds to the first message of TLS, so there is no connection.
#[tokio::test(start_paused = true)]
async fn a_connection_that_is_never_made_ends_with_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let client = Client::builder().api_key("a-key").base_url(base).build().unwrap();
    let (error, waited) = not_sent(&client).await;
    assert_eq!(waited, 8);
    assert_kind(&error, ErrorKind::Deadline);
    insta::assert_snapshot!(error);
}

/// The service reads nothing, so the last byte is never sent, and it can't accept the request.
#[tokio::test(start_paused = true)]
async fn an_upload_is_cancelled_at_its_deadline() {
    let _held = hold_clock();
    let service = ScriptedServer::start().await;
    let (reply, pace) = accepted(&service, "t1").reading_slowly();
    service.reply(reply);
    let client = builder(&service).build().unwrap();
    let request = fox().input_image(large_png(16_000_000));
    let submission = tokio::spawn(async move { client.submit_with(request, soon()).await });
    service.wait_for_heads(1).await;
    tokio::time::advance(seconds(8)).await;

    let error = done(submission).await.unwrap().unwrap_err();

    drop(pace);
    assert_billing(&error, ErrorKind::Deadline, Billing::NotBilled);
    assert!(!service.only_request().complete);
}

/// With a deadline, the number of attempts is not limited, nor are the retries that all share.
#[tokio::test(start_paused = true)]
async fn a_busy_service_is_tried_until_the_deadline() {
    let service = ScriptedServer::start().await;
    service.otherwise(|_| Reply::json(429, &json!({})));
    let client = samples::client(&service);
    let (error, waited) = not_sent(&client).await;
    assert_kind(&error, ErrorKind::RateLimited);
    assert!((4..8).contains(&waited), "{waited}");

    let submit = || client.submit_with(fox(), SubmitOptions::default().deadline(seconds(600)));
    let refused = futures_util::future::join_all((0..60).map(|_| submit())).await;
    assert!(refused.iter().all(|outcome| outcome.is_err()));
    let posts = service.posts().len();
    assert!((60 * 10..60 * 60).contains(&posts), "{posts}");
}

#[tokio::test(start_paused = true)]
async fn a_request_to_wait_longer_than_the_deadline_ends_the_submission() {
    let service = ScriptedServer::start().await;
    service.reply(Reply::status(429).header("retry-after", "9"));
    let (error, waited) = not_sent(&samples::client(&service)).await;
    assert_eq!((error.retry_after(), waited), (Some(seconds(9)), 0));

    let longer = SubmitOptions::default().deadline(seconds(600));
    service.reply(Reply::status(429).header("retry-after", "300")).reply(accepted(&service, "t1"));
    let task = samples::client(&service).submit_with(fox(), longer).await.unwrap();
    assert_eq!(task.id(), "t1", "longer than the retry policy allows without a deadline");
}

#[tokio::test(start_paused = true)]
async fn a_response_in_the_grace_is_received() {
    let (service, client) = served().await;
    let (reply, pieces) = Reply::nothing().in_pieces();
    service.reply(reply);
    let late = async {
        service.wait_for_requests(1).await;
        tokio::time::sleep(seconds(11)).await;
        pieces.send(accepted(&service, "t1").bytes());
    };
    let (task, ()) = done(async { tokio::join!(client.submit_with(fox(), soon()), late) }).await;
    assert_eq!(task.unwrap().id(), "t1");
}
