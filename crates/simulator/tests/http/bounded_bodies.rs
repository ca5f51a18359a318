//! Bodies are bounded: their values, their names, their texts, and all of them together.

use std::time::Duration;

use serde_json::json;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, task::JoinSet};

use super::{
    bench::Bench,
    raw::{Raw, announce},
};
use imagekiln_simulator::Config;

#[tokio::test]
async fn bodies_with_too_many_values_are_rejected() {
    let bench = Bench::new().await;
    let body = |count: usize| {
        let values = r#"{"":0},"#.repeat(count);
        format!(r#"{{"prompt":"x","more":[{values}0]}}"#)
    };
    // Each object counts as three, and everything else together as six.
    assert_eq!(bench.post_bytes("/v1/gen-2-pro", body(3331)).await.status, 200);
    for count in [3332, 100_000] {
        let response = bench.post_bytes("/v1/gen-2-pro", body(count)).await;
        assert_eq!(response.violations(), ["body value_error"]);
        let message = response.json()["detail"][0]["msg"].to_string();
        assert!(message.contains("more than 10000 values"), "{message}");
    }
}

#[tokio::test]
async fn names_and_texts_are_bounded() {
    let bench = Bench::new().await;
    let named = |length: usize| json!({ "prompt": "x", "n".repeat(length): 1 });
    assert_eq!(bench.post("/v1/gen-2-pro", &named(256)).await.status, 200);
    let response = bench.post("/v1/gen-2-pro", &named(257)).await;
    assert_eq!(response.violations(), ["body value_error"]);
    assert!(response.body.len() < 200, "{response:?}");
    let prompted = |length: usize| json!({ "prompt": "x".repeat(length) });
    assert_eq!(bench.post("/v1/gen-2-pro", &prompted(1 << 20)).await.status, 200);
    let response = bench.post("/v1/gen-2-pro", &prompted((1 << 20) + 1)).await;
    assert_eq!(response.violations(), ["body value_error"]);
}

#[tokio::test]
async fn names_in_responses_are_short_and_printable() {
    let bench = Bench::new().await;
    let image = "iVBORw0KGgoAAAANSUhEUgAA";
    let name = format!("\u{1b}[31m\u{202e}{}", "n".repeat(200));
    let response = bench.post("/v1/gen-pro-1.0-canny", &json!({ name: image })).await;
    let found = response.violations();
    let shown = format!("body.?[31m?{} ", "n".repeat(122));
    assert!(found.iter().any(|one| one.starts_with(&shown)), "{found:?}");
    let id = "%1b%E2%80%AE".to_owned() + &"i".repeat(2000);
    let poll = bench.get(&format!("{}/v1/get_result?id={id}", bench.sim.base_url())).await;
    assert_eq!(poll.json()["id"], format!("??{}", "i".repeat(126)));
}

#[tokio::test]
async fn a_bounded_number_of_violations_is_reported() {
    let bench = Bench::new().await;
    let body = json!({ "more": vec!["iVBORw0KGgoAAAANSUhEUgAA"; 3000] });
    let response = bench.post("/v1/gen-pro-1.0-canny", &body).await;
    assert_eq!(response.violations().len(), 100);
}

/// A submission of which the last byte is missing.
async fn half_sent(bench: &Bench, length: usize) -> TcpStream {
    let (base, key) = (bench.sim.base_url(), bench.sim.api_key());
    let lines = format!("content-type: application/json\r\ncontent-length: {length}");
    let mut stream = announce(base, "/v1/gen-2-pro", key, &lines).await;
    stream.write_all(&vec![b' '; length - 1]).await.unwrap();
    stream
}

#[tokio::test]
async fn bodies_in_flight_are_bounded() {
    let config = Config {
        max_body_bytes: 1 << 20,
        client_timeout: Duration::from_secs(600),
        ..Config::default()
    };
    let bench = Bench::with(config).await;
    let mut clients = JoinSet::new();
    for _ in 0..8 {
        clients.spawn(Raw::read(half_sent(&bench, 1 << 20).await));
    }
    // One takes as much as it leaves free. All others are rejected.
    for _ in 0..7 {
        let response = clients.join_next().await.unwrap().unwrap();
        assert_eq!(response.summary(), "429 application/json");
        assert_eq!(response.header("retry-after"), Some("1"));
        let detail = response.json()["detail"].to_string();
        assert!(detail.contains("Too many large requests"), "{detail}");
    }
    assert_eq!(bench.sim.counts().refused_with(429), 7);
    // A small one is accepted meanwhile, and a large one afterwards.
    bench.submit("/v1/gen-2-pro", &json!({ "prompt": "x" })).await;
    drop(clients);
    let large = format!("{{\"prompt\":\"x\"}}{}", " ".repeat((1 << 20) - 14));
    loop {
        let response = bench.post_bytes("/v1/gen-2-pro", large.clone()).await;
        // Until the simulator has noticed that the connections are closed.
        if response.status != 429 {
            assert_eq!(response.status, 200, "{response:?}");
            return;
        }
    }
}
