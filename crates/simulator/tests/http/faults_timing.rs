//! Delays and resets: their timing, and HTTP/2.

use std::{pin::pin, time::Duration};

use axum::http::Request;
use http_body_util::{BodyExt as _, Empty};
use serde_json::Value;
use tokio::{io::AsyncReadExt as _, time::Instant};

use super::{
    bench::{Bench, http2, small},
    faults::JSON,
    raw::{Raw, open},
};
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
    { stream }.read_to_end(&mut body).await.unwrap();
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
    let task = bench.submit("/v1/gen-2-pro", &small("x")).await;
    let sample = bench.sample(&task).await;
    let client = http2(1 << 20);
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

#[tokio::test(start_paused = true)]
async fn an_outage_follows_the_clock_of_the_simulator() {
    let faults = vec!["outage@submission=10..70".to_owned()];
    let bench = Bench::with(Config { faults, ..Config::default() }).await;
    let body = small("a fox");
    for (at, status) in [(9.9, 200), (10.0, 500), (69.9, 500), (70.0, 200)] {
        bench.sim.clock().advance_to(Duration::from_secs_f64(at));
        let response = bench.post("/v1/gen-2-pro", &body).await;
        assert_eq!(response.status, status, "at {at} s");
    }
    assert_eq!(bench.sim.counts().accepted, 2);
    assert_eq!(bench.sim.faults().applied()["outage"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_response_has_a_wrong_date() {
    let bench = Bench::new().await;
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    let date_of = async |fault: &str| {
        let response = bench.get_faulty(&url, fault).await;
        httpdate::parse_http_date(response.headers["date"].to_str().unwrap()).unwrap()
    };
    let now = date_of("slow-headers=0").await;
    assert_eq!(date_of("clock-skew").await, now + Duration::from_secs(3600));
    assert_eq!(date_of("clock-skew=-31536000").await, now - Duration::from_secs(31_536_000));
    for wrong in ["clock-skew=1.5", "clock-skew=31536001", "clock-skew=soon"] {
        assert_eq!(bench.get_faulty(&url, wrong).await.status, 400, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_its_time() {
    let bench = Bench::new().await;
    let request = format!(
        "GET /v1/get_result?id=x HTTP/1.1\r\nhost: x\r\nx-key: {}\r\n\
         x-simulator-fault: idle-close=7\r\n\r\n",
        bench.sim.api_key()
    );
    let before = Instant::now();
    let response = Raw::read(open(bench.sim.base_url(), request).await).await;
    assert_eq!(response.summary(), JSON);
    assert_eq!(response.header("connection"), None, "it is not announced");
    assert_eq!(before.elapsed().as_secs(), 7);
}
