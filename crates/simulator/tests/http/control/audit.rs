//! Changes to the clock and the faults, and redeliveries, are in the audit log.

use axum::http::Method;
use serde_json::{Value, json};

use crate::bench::Bench;

#[tokio::test]
async fn every_action_of_the_control_port_is_recorded() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "x", "webhook_url": "http://127.0.0.1:1/hook?token=hidden" });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    let task = task["id"].as_str().unwrap();
    let actions: [(Method, &str, Value, Value, String); 6] = [
        (
            Method::PUT,
            "/api/clock",
            json!({ "speed": 60 }),
            Value::Null,
            "set the speed of the clock to 60".to_owned(),
        ),
        (
            Method::POST,
            "/api/clock/advance",
            json!({ "seconds": 1.5 }),
            Value::Null,
            "advance the clock by 1.5 s".to_owned(),
        ),
        (
            Method::POST,
            "/api/faults",
            json!({ "rule": "empty:once" }),
            Value::Null,
            "add the fault rule 1: `empty:once`".to_owned(),
        ),
        (
            Method::DELETE,
            "/api/faults/1",
            json!({}),
            Value::Null,
            "remove the fault rule 1".to_owned(),
        ),
        (
            Method::DELETE,
            "/api/faults",
            json!({}),
            Value::Null,
            "remove all fault rules".to_owned(),
        ),
        (
            Method::POST,
            "/api/webhooks/1/redeliver",
            json!({}),
            json!("default"),
            format!("send the webhook 1 of the task {task} again"),
        ),
    ];
    for (method, path, body, organization, action) in actions {
        let response = bench.control_as("bob", method, path, Some(body)).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        let entry = &bench.show("/api/audit?limit=1").await["entries"][0];
        assert_eq!((&entry["action"], &entry["done"]), (&json!(action), &json!(true)));
        assert_eq!((&entry["actor"], &entry["organization"]), (&json!("bob"), &organization));
        // A user sees only entries of organizations.
        let seen = bench.control_as("bob", Method::GET, "/api/audit", None).await;
        assert_eq!(seen.json()["entries"], json!([]));
    }
    for (method, path) in [
        (Method::DELETE, "/api/faults/1"),
        (Method::POST, "/api/webhooks/99/redeliver"),
        (Method::POST, "/api/clock/advance"),
    ] {
        let response = bench.control(method, path, Some(json!({ "seconds": -1 }))).await;
        assert!(response.status.is_client_error(), "{path}: {response:?}");
    }
    let audit = bench.show("/api/audit").await;
    assert_eq!(audit["entries"].as_array().map(Vec::len), Some(6), "{audit}");
    assert!(!audit.to_string().contains("hidden"), "{audit}");
}
