//! Rejected requests, and their responses.

use axum::http::header;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::{
    bench::Bench,
    contract::submissions,
    raw::{Raw, announce},
};
use imagekiln_simulator::Config;

#[tokio::test]
async fn every_endpoint_requires_a_known_key() {
    let bench = Bench::new().await;
    let mut requests: Vec<_> =
        submissions().iter().map(|submission| ("POST", submission.path.clone())).collect();
    requests.push(("GET", "/v1/get_result?id=x".to_owned()));
    let mut refused = 0;
    for (method, path) in requests {
        for base in [bench.sim.base_url(), bench.sim.regional_base_url()] {
            let wrong: [&[_]; 3] = [
                &[],
                &[("x-key", "")],
                &[("x-key", "imagekiln-simulator-ke"), ("authorization", "x")],
            ];
            for headers in wrong {
                let response = bench.send(method, &format!("{base}{path}"), headers, "{}").await;
                assert_eq!(response.status, 403, "{method} {path}");
                assert!(response.json()["detail"].as_str().unwrap().contains("x-key"));
                refused += 1;
            }
        }
    }
    let counts = bench.sim.counts();
    assert_eq!((counts.accepted, counts.polls, counts.refused_with(403)), (0, 0, refused));
}

#[tokio::test]
async fn every_configured_key_is_accepted() {
    let bench = Bench::with(Config {
        api_keys: vec!["first".into(), "second".into()],
        ..Config::default()
    })
    .await;
    assert_eq!(bench.sim.api_key(), "first");
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    for (key, status) in [("first", 200), ("second", 200), ("imagekiln-simulator-key", 403)] {
        let response = bench.send("GET", &url, &[("x-key", key)], "").await;
        assert_eq!(response.status, status, "{key}");
    }
}

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let bench = Bench::new().await;
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v1/gen-9-pro",
        "/v1/gen-2-pro/",
        "/v2/gen-2-pro",
        "/v1/klein-finetuned",
        "/v1/-finetuned",
        "/v1/gen--finetuned/x",
        "/v1/gen-finetuned",
        "/v1/gen-2-pro-finetuned",
        "/v1/gen-2-klein-9b-kv",
        "/v1/other-finetuned",
        "/delivery",
    ] {
        let response = bench.post(path, &json!({ "prompt": "x" })).await;
        assert_eq!(response.status, 404, "{path}");
        assert_eq!(response.json(), json!({ "detail": "Not Found" }));
    }
    for path in ["/v1/gen-2-pro", "/v1/gen-pro-finetuned", "/v1/gen-2-klein-9b-finetuned"] {
        let response = bench.get(&format!("{}{path}", bench.sim.base_url())).await;
        assert_eq!(response.status, 405, "{path}");
        assert_eq!(response.headers[header::ALLOW], "POST");
        assert!(response.json()["detail"].is_string());
    }
    assert_eq!(bench.post("/v1/get_result", &json!({})).await.status, 405);
    assert_eq!(bench.sim.counts().accepted, 0);
}

#[tokio::test]
async fn bodies_over_the_limit_are_rejected() {
    let bench = Bench::with(Config { max_body_bytes: 100, ..Config::default() }).await;
    let body = |length: usize| format!("{{\"prompt\":\"{}\"}}", "x".repeat(length - 13));
    assert_eq!(bench.post_bytes("/v1/gen-2-pro", body(100)).await.status, 200);
    let response = bench.post_bytes("/v1/gen-2-pro", body(101)).await;
    assert_eq!(response.status, 413);
    assert!(response.json()["detail"].as_str().unwrap().contains("100 bytes"));
    assert_eq!(bench.post_bytes("/v1/gen-2-pro", body(1 << 20)).await.status, 413);
    // A body without an announced length.
    let lines = "content-type: application/json\r\ntransfer-encoding: chunked";
    let (base, key) = (bench.sim.base_url(), bench.sim.api_key());
    let mut stream = announce(base, "/v1/gen-2-pro", key, lines).await;
    let chunk = format!("{:x}\r\n{}\r\n0\r\n\r\n", 101, "x".repeat(101));
    stream.write_all(chunk.as_bytes()).await.unwrap();
    assert_eq!(Raw::read(stream).await.summary(), "413 application/json");
    assert_eq!(bench.sim.counts().refused_with(413), 3);
    assert_eq!(bench.sim.counts().accepted, 1);
}

#[tokio::test]
async fn only_json_is_accepted() {
    let bench = Bench::new().await;
    let url = format!("{}/v1/gen-2-pro", bench.sim.base_url());
    for (kind, status) in [
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
        ("application/problem+json", 200),
        ("text/plain", 422),
        ("application/x-www-form-urlencoded", 422),
    ] {
        let headers = [("x-key", bench.sim.api_key()), ("content-type", kind)];
        let response = bench.send("POST", &url, &headers, r#"{"prompt":"x"}"#).await;
        assert_eq!(response.status, status, "{kind}");
    }
    let response = bench.send("POST", &url, &[("x-key", bench.sim.api_key())], "{}").await;
    assert_eq!(response.violations(), ["body model_attributes_type"]);
}

#[tokio::test]
async fn a_poll_without_an_id_is_invalid() {
    let bench = Bench::new().await;
    let response = bench.get(&format!("{}/v1/get_result", bench.sim.base_url())).await;
    assert_eq!(response.violations(), ["query.id missing"]);
    let response = bench.get(&format!("{}/v1/get_result?id=a%20b", bench.sim.base_url())).await;
    assert_eq!(
        (response.status.as_u16(), response.json()),
        (200, json!({ "id": "a b", "status": "Task not found" }))
    );
    assert_eq!(response.json().get("result"), None::<&Value>);
}
