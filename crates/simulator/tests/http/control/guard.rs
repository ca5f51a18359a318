//! Access to the control interface.

use std::time::Duration;

use serde_json::json;

use crate::bench::{Bench, Response};
use imagekiln_simulator::WebhookDelivery;

fn host(bench: &Bench) -> String {
    bench.sim.control_url().trim_start_matches("http://").to_owned()
}

fn assert_rejected(response: &Response, status: u16) {
    assert_eq!(response.status, status, "{response:?}");
    assert!(response.json()["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
}

#[tokio::test]
async fn requests_with_a_key_are_rejected() {
    let bench = Bench::new().await;
    for path in
        ["/", "/api/state", "/api/tasks", "/page.css", "/swagger-ui/swagger-ui.css", "/nothing"]
    {
        for key in [bench.sim.api_key(), "any", ""] {
            assert_rejected(&bench.visit(path, &[("x-key", key)]).await, 403);
        }
    }
    assert_eq!(bench.visit("/api/state", &[]).await.status, 200);
}

/// The holder of a key chooses where webhooks are sent, and they are JSON requests from this
/// machine.
#[tokio::test]
async fn webhooks_of_another_simulator_are_rejected() {
    let (bench, other) = (Bench::new().await, Bench::new().await);
    let url = format!("{}/api/keys/key-1/reveal", other.sim.control_url());
    let body = json!({ "prompt": "x", "width": 64, "height": 64, "webhook_url": url });
    bench.submit("/v1/gen-2-flex", &body).await;
    bench.sim.clock().advance(Duration::from_secs(1));
    let status_code =
        |all: &[WebhookDelivery]| all[0].attempts.iter().any(|attempt| attempt.status.is_some());
    let webhooks = bench.sim.webhooks_when(status_code).await;
    assert_eq!(webhooks[0].attempts[0].status, Some(403), "{webhooks:?}");
    let audit = other.visit("/api/audit", &[]).await.json().to_string();
    assert!(!audit.contains("reveal"), "{audit}");
}

#[tokio::test]
async fn the_ports_of_the_service_and_of_the_control_interface_are_separate() {
    let bench = Bench::new().await;
    for base in [bench.sim.base_url(), bench.sim.regional_base_url()] {
        for path in ["/", "/api/state", "/v1/api/state"] {
            let url = format!("{base}{path}");
            assert_eq!(bench.get(&url).await.status, 404, "{url}");
        }
    }
    let submission = bench.control("POST", "/v1/gen-2-pro", Some(json!({ "prompt": "x" }))).await;
    assert_rejected(&submission, 404);
    assert_eq!(bench.sim.counts().accepted, 0);
}

#[tokio::test]
async fn other_host_names_are_rejected() {
    let bench = Bench::new().await;
    let port = host(&bench).rsplit(':').next().unwrap().to_owned();
    for name in ["127.0.0.1", "localhost", "LOCALHOST", "127.1.2.3", "[::1]"] {
        let name = format!("{name}:{port}");
        assert_eq!(bench.visit("/api/state", &[("host", &name)]).await.status, 200, "{name}");
    }
    for name in [
        "example.com",
        "localhost.example.com",
        "192.168.1.7",
        "128.0.0.1",
        "0.0.0.0",
        "[::]",
        "127.0.0.1.nip.io",
    ] {
        let name = format!("{name}:{port}");
        assert_rejected(&bench.visit("/api/state", &[("host", &name)]).await, 403);
        assert_rejected(
            &bench.visit("/try/global/v1/get_result?id=x", &[("host", &name)]).await,
            403,
        );
    }
    for name in ["localhost", "localhost:1", "127.0.0.1:80", "not a host"] {
        assert_rejected(&bench.visit("/", &[("host", name)]).await, 403);
    }
}

#[tokio::test]
async fn other_pages_are_rejected() {
    let bench = Bench::new().await;
    let own = bench.sim.control_url().to_owned();
    let service = bench.sim.base_url().to_owned();
    let of_another_name = own.replace("127.0.0.1", "localhost");
    assert_eq!(bench.visit("/api/state", &[("origin", &own)]).await.status, 200);
    for origin in ["https://example.com", "null", &service, &of_another_name, ""] {
        for path in ["/api/state", "/try/global/v1/get_result?id=x", "/"] {
            assert_rejected(&bench.visit(path, &[("origin", origin)]).await, 403);
        }
    }
    for site in ["cross-site", "same-site", "else"] {
        assert_rejected(&bench.visit("/api/tasks", &[("sec-fetch-site", site)]).await, 403);
    }
    for site in ["same-origin", "none"] {
        assert_eq!(bench.visit("/api/tasks", &[("sec-fetch-site", site)]).await.status, 200);
    }
    // A link to the page is allowed, but not a frame, or a link to anything else.
    let link = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(bench.visit("/", &link).await.status, 200);
    assert_rejected(&bench.visit("/api/state", &link).await, 403);
    let frame = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "iframe"),
    ];
    assert_rejected(&bench.visit("/", &frame).await, 403);
}

#[tokio::test]
async fn changes_require_json() {
    let bench = Bench::new().await;
    let url = format!("{}/api/clock/advance", bench.sim.control_url());
    let before = bench.sim.clock().now();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let response =
            bench.send("POST", &url, &[("content-type", kind)], r#"{"seconds":5000}"#).await;
        assert_rejected(&response, 400);
    }
    assert_rejected(&bench.send("POST", &url, &[], r#"{"seconds":5000}"#).await, 400);
    let json = [("content-type", "application/json; charset=utf-8")];
    assert_rejected(&bench.send("POST", &url, &json, r#"{"seconds":"#).await, 400);
    for body in [
        r#"{"seconds":"5000"}"#,
        "{}",
        r#"{"seconds":1,"more":2}"#,
        "[]",
        r#"{"seconds":-1}"#,
        r#"{"seconds":1e300}"#,
    ] {
        assert_rejected(&bench.send("POST", &url, &json, body).await, 422);
    }
    let huge = format!(r#"{{"seconds":5000,"x":"{}"}}"#, "x".repeat(1 << 20));
    assert_rejected(&bench.send("POST", &url, &json, huge).await, 413);
    assert!(bench.sim.clock().now() < before + std::time::Duration::from_secs(1000));
    assert_eq!(bench.send("POST", &url, &json, r#"{"seconds":5000}"#).await.status, 200);
    assert!(bench.sim.clock().now() >= before + std::time::Duration::from_secs(5000));
}

#[tokio::test]
async fn every_response_has_security_headers() {
    let bench = Bench::new().await;
    for path in [
        "/",
        "/main.js",
        "/api/state",
        "/api/nothing",
        "/swagger-ui/swagger-ui-bundle.js",
        "/try/global/v1/x",
    ] {
        let response = bench.visit(path, &[]).await;
        let header = |name: &str| response.headers[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("cache-control"), "no-store");
        assert!(
            response.headers.keys().all(|name| !name.as_str().starts_with("access-control-")),
            "{path}"
        );
    }
    let preflight = [("origin", "https://example.com"), ("access-control-request-method", "POST")];
    let response = bench
        .send("OPTIONS", &format!("{}/api/clock/advance", bench.sim.control_url()), &preflight, "")
        .await;
    assert_rejected(&response, 403);
    assert!(response.headers.get("access-control-allow-origin").is_none());
}
