//! Webhooks at the control interface.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::Bench;
use imagekiln_simulator::WebhookState;
use imagekiln_testbed::ClosedPort;

#[tokio::test]
async fn webhooks_are_listed_with_their_bodies_and_can_be_sent_again() {
    let bench = Bench::new().await;
    let refusing = ClosedPort::reserve();
    let task = bench
        .submit(
            "/v1/gen-2-pro",
            &json!({
                "prompt": "a fox", "width": 64, "height": 64,
                "webhook_url": format!("{}/hook?token=hidden", refusing.url()),
                "webhook_secret": "s3cret",
            }),
        )
        .await;
    bench.sim.clock().advance(Duration::from_secs(1));
    bench.sim.webhooks_when(|all| all.iter().any(|delivery| !delivery.attempts.is_empty())).await;
    let shown = bench.show("/api/webhooks").await;
    assert_eq!(shown["total"], 1);
    let delivery = &shown["deliveries"][0];
    assert_eq!((&delivery["task"], &delivery["cause"]), (&task["id"], &json!("final")));
    assert_eq!(delivery["prompt"], "a fox");
    let signature = delivery["headers"][0][1].as_str().unwrap();
    assert!(signature.starts_with("sha256="), "{delivery}");
    let shown_task = bench.show(&format!("/api/tasks/{}", task["id"].as_str().unwrap())).await;
    let sent_at = delivery["attempts"][0]["at"].as_f64().unwrap();
    assert!(
        shown["started_at"].as_f64().unwrap() + sent_at
            >= shown_task["final_at"].as_f64().unwrap() - 0.001
    );
    let body: Value = serde_json::from_str(delivery["body"].as_str().unwrap()).unwrap();
    assert_eq!((&body["id"], &body["status"]), (&task["id"], &json!("Ready")));
    for hidden in ["s3cret", "token=hidden"] {
        assert!(!shown.to_string().contains(hidden), "{shown}");
    }

    let path = format!("/api/webhooks/{}/redeliver", delivery["id"]);
    let again = bench.change("POST", &path, json!({})).await;
    assert_eq!((&again["cause"], &again["body"]), (&json!("redelivery"), &delivery["body"]));
    let all = bench.sim.webhooks_when(|all| all.len() == 2).await;
    assert!(all.iter().all(|delivery| delivery.state != WebhookState::Refused));
    let newest = bench.show("/api/webhooks?limit=1").await;
    assert_eq!((&newest["total"], &newest["deliveries"][0]["id"]), (&json!(2), &again["id"]));
    for path in ["/api/webhooks/77/redeliver", "/api/webhooks/x/redeliver"] {
        assert_eq!(bench.control("POST", path, Some(json!({}))).await.status, 404);
    }
}
