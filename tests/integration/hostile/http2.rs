//! HTTP/2: one connection carries all requests, so one that stops responding must not block them,
//! and requests that the protocol reports as unprocessed are sent again.
//!
//! HTTP/2 needs TLS with a certificate that the system trusts. So each test runs in a child process
//! that trusts a test certificate.

use std::{env, fs};

use rcgen::{CertifiedKey, KeyPair};
use serde_json::json;
use tokio::time::{self, Instant};

use crate::support::{
    child,
    http2::{Http2Server, Step, certificate},
    samples::{KEY, assert_billing, fox, seconds},
};
use imagekiln::{Billing, Client, ErrorKind, Task, TaskRef};

const KEY_FILE: &str = "IMAGEKILN_TEST_KEY_FILE";
const TRUSTED_FILE: &str = "SSL_CERT_FILE";

/// In the child process, returns the certificate that it trusts. Otherwise runs the test in a child
/// process and returns `None`.
fn trusted(test: &str) -> Option<CertifiedKey<KeyPair>> {
    if !child::is_child() {
        let made = certificate();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (trusted, key) = (path("cert.pem"), path("key.pem"));
        fs::write(&trusted, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        child::run(
            &format!("hostile::http2::{test}"),
            &[(TRUSTED_FILE, &trusted), (KEY_FILE, &key)],
        );
        return None;
    }
    let read = |variable| fs::read_to_string(env::var(variable).unwrap()).unwrap();
    let signing_key = KeyPair::from_pem(&read(KEY_FILE)).unwrap();
    let parameters = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    Some(CertifiedKey { cert: parameters.self_signed(&signing_key).unwrap(), signing_key })
}

fn client(server: &Http2Server) -> Client {
    Client::builder().api_key(KEY).base_url(server.url("")).random_seed(7).build().unwrap()
}

fn accepted(server: &Http2Server) -> Step {
    Step::Reply(json!({ "id": "t1", "polling_url": server.url("/poll/t1") }))
}

fn status(status: &str) -> Step {
    Step::Reply(
        json!({ "status": status, "result": { "sample": "https://delivery.example/fox.png" } }),
    )
}

fn task(client: &Client, server: &Http2Server) -> Task {
    client.task(TaskRef::new("t1", server.url("/poll/t1"), None))
}

#[tokio::test(start_paused = true)]
async fn a_refused_stream_is_sent_again() {
    let Some(certificate) = trusted("a_refused_stream_is_sent_again") else { return };
    let server = Http2Server::start(&certificate).await;
    server.then(Step::Refuse).then(accepted(&server));

    assert_eq!(client(&server).submit(fox()).await.unwrap().id(), "t1");

    assert_eq!(server.connections().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn streams_that_are_always_refused_are_not_billed() {
    let Some(certificate) = trusted("streams_that_are_always_refused_are_not_billed") else {
        return;
    };
    let server = Http2Server::start(&certificate).await;
    (0..6).for_each(|_| {
        server.then(Step::Refuse);
    });

    let error = client(&server).submit(fox()).await.unwrap_err();

    assert_billing(&error, ErrorKind::Network, Billing::NotBilled);
    assert!(error.to_string().contains("nothing was billed"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_goes_away_before_the_request_is_replaced() {
    let Some(certificate) = trusted("a_connection_that_goes_away_before_the_request_is_replaced")
    else {
        return;
    };
    let server = Http2Server::start(&certificate).await;
    server.goes_away_first().then(accepted(&server));

    assert_eq!(client(&server).submit(fox()).await.unwrap().id(), "t1");

    assert_eq!(server.connections(), [1, 2]);
}

/// The server says which requests it has received, so they may share a connection.
#[tokio::test(start_paused = true)]
async fn submissions_share_a_connection() {
    let Some(certificate) = trusted("submissions_share_a_connection") else { return };
    let server = Http2Server::start(&certificate).await;
    let client = client(&server);
    for _ in 0..3 {
        server.then(accepted(&server));
        let _ = client.submit(fox()).await.unwrap();
    }
    // The first one shows that the server speaks HTTP/2.
    assert_eq!(server.connections(), [1, 2, 2]);
}

/// The connection accepts requests and responds to pings, but sends no other response.
#[tokio::test(start_paused = true)]
async fn a_connection_that_stops_responding_is_abandoned() {
    let Some(certificate) = trusted("a_connection_that_stops_responding_is_abandoned") else {
        return;
    };
    let server = Http2Server::start(&certificate).await;
    server.then(Step::NeverRespond);
    let client = client(&server);
    let hung = task(&client, &server);
    let hung = tokio::spawn(async move { hung.wait().await.map(|_| ()) });
    server.wait_for_requests(1).await;
    time::sleep(seconds(11)).await;

    server.then(accepted(&server)).then(status("Ready"));
    let started = Instant::now();
    let _ = client.submit(fox()).await.unwrap().wait().await.unwrap();
    assert!(started.elapsed() < seconds(1), "{:?}", started.elapsed());

    server.then(status("Ready"));
    hung.await.unwrap().unwrap();
    // The first submission does not know yet that the server speaks HTTP/2.
    assert_eq!(server.connections(), [1, 2, 3, 3]);
}

/// Nothing arrives from the server, not even ping responses, as after a pulled cable.
#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_detected_by_pings() {
    let Some(certificate) = trusted("a_dead_connection_is_detected_by_pings") else { return };
    let server = Http2Server::start(&certificate).await;
    server.then(status("Pending")).then(Step::Freeze).then(status("Ready"));
    let client = client(&server);
    let task = task(&client, &server);
    let started = Instant::now();

    let _ = task.wait().await.unwrap();

    assert!(started.elapsed() < seconds(15), "{:?}", started.elapsed());
    assert_eq!(server.connections(), [1, 1, 2]);
}
