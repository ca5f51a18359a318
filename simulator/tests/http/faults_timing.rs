//! Delays and resets: their timing, and HTTP/2.

use std::{pin::pin, time::Duration};

use axum::http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{bench::Bench, faults::JSON, raw::Raw};
use imagekiln_simulator::Config;

#[tokio::test(start_paused = true)]
async fn the_headers_of_a_slow_body_are_sent_at_once() {
    // This may take longer than the client timeout, because the client waits for the service.
    let bench =
        Bench::with(Config { client_timeout: Duration::from_secs(10), ..Config::default() }).await;
    let headers = [("x-key", bench.sim.api_key()), ("x-simulator-fault", "slow-body=3600")];
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    let stream = Raw::start("GET", &url, &headers, "").await;
    let before = Instant::now();
    let mut head = [0; 4096];
    let length = loop {
        stream.readable().await.unwrap();
        match stream.try_read(&mut head) {
            Ok(length) => break length,
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    };
    let head = String::from_utf8(head[..length].to_vec()).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(before.elapsed(), Duration::ZERO);
    let mut body = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut { stream }, &mut body).await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["status"], "Task not found");
    assert_eq!(before.elapsed().as_secs(), 3600);
}

#[tokio::test]
async fn delays_follow_the_clock_of_the_simulator() {
    let bench = Bench::new().await;
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    for fault in ["slow-headers=86400", "slow-body=86400"] {
        let headers = [("x-key", bench.sim.api_key()), ("x-simulator-fault", fault)];
        let mut response = pin!(Raw::send("GET", &url, &headers, ""));
        let clock = bench.sim.clock();
        let response = loop {
            tokio::select! {
                response = &mut response => break response,
                () = tokio::task::yield_now() => clock.advance(Duration::from_secs(3600)),
            }
        };
        assert_eq!(response.summary(), JSON);
    }
}

#[tokio::test]
async fn http2_connections_are_reset_too() {
    let bench = Bench::new().await;
    let task =
        bench.submit("/v1/gen-2-pro", &json!({ "prompt": "x", "width": 64, "height": 64 })).await;
    let sample = bench.sample(&task).await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http::<Empty<axum::body::Bytes>>();
    let get = async |url: &str, fault: &str| {
        let request = Request::get(url).header("x-key", bench.sim.api_key());
        let request = request.header("x-simulator-fault", fault).body(Empty::new()).unwrap();
        client.request(request).await
    };
    let url = task["polling_url"].as_str().unwrap();
    assert!(get(url, "slow-body=0").await.unwrap().into_body().collect().await.is_ok());
    assert!(get(url, "reset").await.is_err());
    for fault in ["reset", "truncated"] {
        // The connection may end before the response headers were read.
        if let Ok(response) = get(&sample, fault).await {
            assert!(response.into_body().collect().await.is_err(), "{fault}");
        }
    }
    assert!(get(&sample, "slow-body=0").await.unwrap().into_body().collect().await.is_ok());
}
