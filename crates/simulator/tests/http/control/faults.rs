//! Faults and the speed of the clock.

use axum::http::Method;
use serde_json::{Value, json};

use crate::bench::Bench;

async fn submit(bench: &Bench) -> u16 {
    bench
        .post("/v1/gen-2-pro", &json!({ "prompt": "x", "width": 64, "height": 64 }))
        .await
        .status
        .as_u16()
}

#[tokio::test]
async fn rules_are_added_listed_and_removed() {
    let bench = Bench::new().await;
    let before = bench.show("/api/faults").await;
    assert_eq!((&before["rules"], &before["applied"]), (&json!([]), &json!({})));
    let html = before["known"]
        .as_array()
        .unwrap()
        .iter()
        .find(|fault| fault["name"] == "html-502")
        .unwrap();
    assert_eq!(html["places"], json!(["submission", "poll", "delivery"]));

    let rule = bench
        .change(Method::POST, "/api/faults", json!({ "rule": "html-502@submission:once" }))
        .await;
    assert_eq!((&rule["text"], &rule["left"]), (&json!("html-502@submission:once"), &json!(1)));
    bench.change(Method::POST, "/api/faults", json!({ "rule": "error-before@poll" })).await;
    assert_eq!((submit(&bench).await, submit(&bench).await), (502, 200));
    let shown = bench.show("/api/faults").await;
    assert_eq!(
        (&shown["rules"][0]["applied"], &shown["applied"]),
        (&json!(1), &json!({ "html-502": 1 }))
    );

    let left =
        bench.change(Method::DELETE, &format!("/api/faults/{}", rule["id"]), json!({})).await;
    assert_eq!(left["rules"].as_array().map(Vec::len), Some(1));
    assert_eq!(bench.change(Method::DELETE, "/api/faults", json!({})).await["rules"], json!([]));
    for (method, path, status) in [
        (Method::DELETE, "/api/faults/77", 404),
        (Method::DELETE, "/api/faults/x", 404),
        (Method::POST, "/api/faults", 422),
    ] {
        let response = bench.control(method, path, Some(json!({ "rule": "no-such-fault" }))).await;
        assert_eq!(response.status, status, "{path}: {response:?}");
        assert!(response.json()["detail"].is_string());
    }
}

#[tokio::test]
async fn a_fault_also_cuts_connections_of_forwarded_requests() {
    let bench = Bench::new().await;
    bench.change(Method::POST, "/api/faults", json!({ "rule": "reply-lost@submission" })).await;
    let address = bench.sim.control_url().trim_start_matches("http://").to_owned();
    let body = r#"{"prompt":"x"}"#;
    let request = format!(
        "POST /try/global/v1/gen-2-pro HTTP/1.1\r\nhost: {address}\r\nx-key: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        bench.sim.api_key(),
        body.len()
    );
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut response).await;
    assert_eq!(String::from_utf8_lossy(&response), "");
    assert_eq!(bench.sim.counts().accepted, 1);
}

#[tokio::test]
async fn the_speed_of_the_clock_can_be_set() {
    let bench = Bench::new().await;
    let set = async |speed: Value| {
        bench.control(Method::PUT, "/api/clock", Some(json!({ "speed": speed }))).await
    };
    for speed in [0.0, 60.0, 1.0] {
        assert_eq!(set(json!(speed)).await.json()["speed"], speed);
        assert_eq!(bench.sim.clock().speed(), speed);
        assert_eq!(bench.show("/api/clock").await["speed"], speed);
    }
    for speed in [json!(-1), json!(1e9), json!("fast"), json!(null)] {
        assert_eq!(set(speed).await.status, 422);
    }
    assert_eq!(bench.sim.clock().speed(), 1.0);
}
