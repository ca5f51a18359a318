//! Faults and the speed of the clock.

use serde_json::{Value, json};

use crate::{
    bench::{Bench, small},
    raw::Raw,
};

async fn submit(bench: &Bench) -> u16 {
    bench.post("/v1/gen-2-pro", &small("x")).await.status.as_u16()
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

    let rule =
        bench.change("POST", "/api/faults", json!({ "rule": "html-502@submission:once" })).await;
    assert_eq!((&rule["text"], &rule["left"]), (&json!("html-502@submission:once"), &json!(1)));
    bench.change("POST", "/api/faults", json!({ "rule": "error-before@poll" })).await;
    assert_eq!((submit(&bench).await, submit(&bench).await), (502, 200));
    let shown = bench.show("/api/faults").await;
    assert_eq!(
        (&shown["rules"][0]["applied"], &shown["applied"]),
        (&json!(1), &json!({ "html-502": 1 }))
    );

    let left = bench.change("DELETE", &format!("/api/faults/{}", rule["id"]), json!({})).await;
    assert_eq!(left["rules"].as_array().map(Vec::len), Some(1));
    assert_eq!(bench.change("DELETE", "/api/faults", json!({})).await["rules"], json!([]));
    for (method, path, status) in [
        ("DELETE", "/api/faults/77", 404),
        ("DELETE", "/api/faults/x", 404),
        ("POST", "/api/faults", 422),
    ] {
        let response = bench.control(method, path, Some(json!({ "rule": "no-such-fault" }))).await;
        assert_eq!(response.status, status, "{path}: {response:?}");
        assert!(response.json()["detail"].is_string());
    }
}

#[tokio::test]
async fn a_fault_also_cuts_connections_of_forwarded_requests() {
    let bench = Bench::new().await;
    bench.change("POST", "/api/faults", json!({ "rule": "reply-lost@submission" })).await;
    let url = format!("{}/try/global/v1/gen-2-pro", bench.sim.control_url());
    let headers = [("x-key", bench.sim.api_key()), ("content-type", "application/json")];
    let response = Raw::send("POST", &url, &headers, r#"{"prompt":"x"}"#).await;
    assert_eq!(response.summary(), "closed");
    assert_eq!(bench.sim.counts().accepted, 1);
}

#[tokio::test]
async fn the_speed_of_the_clock_can_be_set() {
    let bench = Bench::new().await;
    let set = async |speed: Value| {
        bench.control("PUT", "/api/clock", Some(json!({ "speed": speed }))).await
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
