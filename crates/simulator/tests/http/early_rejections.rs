//! Rejections are sent before the rest of a body arrives, and reach clients that are still sending.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, sleep},
};

use super::{
    bench::Bench,
    raw::{Raw, announce, announce_and_wait, open},
};
use imagekiln_simulator::Config;

const LARGE: usize = 1 << 40;

/// Asserts that a submission is rejected with this status code, and that the simulator then closes
/// the connection.
async fn assert_rejected(stream: &mut TcpStream, status: u16) {
    let response = Raw::read(stream).await;
    assert_eq!(response.summary(), format!("{status} application/json"));
    assert_eq!(response.header("connection"), Some("close"));
    assert!(response.json().get("detail").is_some());
}

#[tokio::test(start_paused = true)]
async fn rejections_do_not_wait_for_the_body() {
    let bench = Bench::new().await;
    let (base, key) = (bench.sim.base_url(), bench.sim.api_key());
    let json = "content-type: application/json\r\n";
    for (path, key, headers, status) in [
        ("/v1/gen-2-pro", "unknown", json, 403),
        ("/v1/gen-9", key, json, 404),
        ("/v1/get_result", key, json, 405),
        ("/v1/gen-2-pro", key, json, 413),
        ("/v1/gen-2-pro", key, "content-type: text/plain\r\n", 422),
        ("/v1/gen-2-pro", key, "x-simulator-fault: unknown\r\n", 400),
    ] {
        for expect in ["", "expect: 100-continue\r\n"] {
            let headers = format!("{headers}{expect}content-length: {LARGE}");
            let started = Instant::now();
            let mut stream = announce(base, path, key, &headers).await;
            assert_rejected(&mut stream, status).await;
            assert_eq!(started.elapsed(), Duration::ZERO, "{path} {expect}");
        }
    }
}

/// A submission that cannot be accepted whatever its body is.
#[tokio::test(start_paused = true)]
async fn a_lack_of_credits_or_places_is_noticed_before_a_large_body() {
    for (config, status) in [
        (Config { max_active_tasks: 0, ..Config::default() }, 429),
        (Config::from_toml("[prices]\nsubmission = 9999999").unwrap(), 402),
    ] {
        let bench = Bench::with(config).await;
        let (base, key) = (bench.sim.base_url(), bench.sim.api_key());
        for length in ["content-length: 100000", "transfer-encoding: chunked"] {
            let headers = format!("content-type: application/json\r\n{length}");
            let started = Instant::now();
            let mut stream = announce(base, "/v1/gen-2-pro", key, &headers).await;
            assert_rejected(&mut stream, status).await;
            assert_eq!(started.elapsed(), Duration::ZERO);
        }
    }
}

/// A client that sends a byte now and then gets the response at once, too.
#[tokio::test(start_paused = true)]
async fn slow_bodies_do_not_delay_rejections() {
    let bench = Bench::new().await;
    let length = format!("content-length: {LARGE}");
    let mut stream = announce(bench.sim.base_url(), "/v1/gen-2-pro", "unknown", &length).await;
    stream.write_all(b"{").await.unwrap();
    assert_rejected(&mut stream, 403).await;
    // What it still sends is discarded, for a limited time.
    stream.write_all(b"}").await.unwrap();
    sleep(Config::default().client_timeout * 2).await;
    let ended = async { while stream.write_all(b"x").await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("the connection is open");
}

#[tokio::test]
async fn rejections_reach_clients_that_send_everything_first() {
    let bench = Bench::with(Config { max_body_bytes: 1 << 20, ..Config::default() }).await;
    let body = " ".repeat(32 << 20);
    for (path, key, status) in [
        ("/v1/gen-2-pro", "unknown", 403),
        ("/v1/gen-9", bench.sim.api_key(), 404),
        ("/v1/get_result", bench.sim.api_key(), 405),
        ("/v1/gen-2-pro", bench.sim.api_key(), 413),
    ] {
        let url = format!("{}{path}", bench.sim.base_url());
        let headers = [("x-key", key), ("content-type", "application/json")];
        let response = Raw::send("POST", &url, &headers, &body).await;
        assert_eq!(response.summary(), format!("{status} application/json"));
        assert!(response.json()["detail"].is_string());
    }
}

/// The client that expects it gets `100 Continue` if the body is wanted.
#[tokio::test]
async fn accepted_bodies_are_asked_for() {
    let bench = Bench::new().await;
    let body = r#"{"prompt":"x"}"#;
    let mut stream = announce_and_wait(bench.sim.base_url(), bench.sim.api_key(), body).await;
    stream.write_all(body.as_bytes()).await.unwrap();
    assert_eq!(Raw::read(stream).await.summary(), "200 application/json");
}

/// A complete body does not cost the connection.
#[tokio::test]
async fn connections_survive_rejections_of_small_bodies() {
    let bench = Bench::new().await;
    let mut stream = open(bench.sim.base_url(), "").await;
    for _ in 0..3 {
        let body = "x".repeat(1000);
        let request = format!(
            "POST /v1/gen-2-pro HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = vec![0; 4096];
        let length = stream.read(&mut response).await.unwrap();
        let response = String::from_utf8_lossy(&response[..length]);
        assert!(response.starts_with("HTTP/1.1 403 "), "{response}");
        assert!(!response.contains("connection: close"), "{response}");
    }
}
