//! Changes to the clock and the faults, and redeliveries, are in the audit log.

use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn every_action_of_the_control_port_is_recorded() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "x", "webhook_url": "http://127.0.0.1:1/hook?token=hidden" });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    let task = task["id"].as_str().unwrap();
    let redelivery = format!("send the webhook 1 of the task {task} again");
    for (method, path, body, action) in [
        ("PUT", "/api/clock", json!({ "speed": 60 }), "set the speed of the clock to 60"),
        ("POST", "/api/clock/advance", json!({ "seconds": 1.5 }), "advance the clock by 1.5 s"),
        (
            "POST",
            "/api/faults",
            json!({ "rule": "empty:once" }),
            "add the fault rule 1: `empty:once`",
        ),
        ("DELETE", "/api/faults/1", json!({}), "remove the fault rule 1"),
        ("DELETE", "/api/faults", json!({}), "remove all fault rules"),
        ("POST", "/api/webhooks/1/redeliver", json!({}), &redelivery),
    ] {
        let organization = path.contains("webhooks").then_some("default");
        let response = bench.control_as("bob", method, path, Some(body)).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        let entry = &bench.show("/api/audit?limit=1").await["entries"][0];
        assert_eq!((&entry["action"], &entry["done"]), (&json!(action), &json!(true)));
        assert_eq!(
            (&entry["actor"], &entry["organization"]),
            (&json!("bob"), &json!(organization))
        );
        // A user sees only entries of organizations.
        let seen = bench.control_as("bob", "GET", "/api/audit", None).await;
        assert_eq!(seen.json()["entries"], json!([]));
    }
    for (method, path) in [
        ("DELETE", "/api/faults/1"),
        ("POST", "/api/webhooks/99/redeliver"),
        ("POST", "/api/clock/advance"),
    ] {
        let response = bench.control(method, path, Some(json!({ "seconds": -1 }))).await;
        assert!(response.status.is_client_error(), "{path}: {response:?}");
    }
    let audit = bench.show("/api/audit").await;
    assert_eq!(audit["entries"].as_array().map(Vec::len), Some(6), "{audit}");
    assert!(!audit.to_string().contains("hidden"), "{audit}");
}
