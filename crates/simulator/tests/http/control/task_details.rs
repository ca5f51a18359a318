//! A task in full: its timeline, the images of its request, why it failed, and its early end.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    bench::{Bench, png, small},
    raw::Raw,
    webhook_receiver::Receiver,
};
use imagekiln_simulator::{Config, WebhookState};

const HOUR: Duration = Duration::from_secs(3600);

/// A simulator on a stopped clock, whose tasks take an hour.
async fn slow() -> Bench {
    Bench::with(Config { ready_after: HOUR, speed: 0.0, ..Config::default() }).await
}

fn path(task: &Value) -> String {
    format!("/api/tasks/{}", task["id"].as_str().unwrap())
}

/// The events of a timeline with their details and counts.
fn events(shown: &Value) -> Vec<(&str, &str, u64)> {
    let entries = shown["timeline"].as_array().unwrap().iter();
    entries
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap();
            (text("event"), text("detail"), entry["count"].as_u64().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn the_timeline_has_polls_deliveries_and_webhooks_in_the_order_of_time() {
    let (bench, mut receiver) = (slow().await, Receiver::start().await);
    let body = json!({
        "prompt": "a fox [[html-502@poll]] [[truncated]]", "width": 64, "height": 64,
        "webhook_url": receiver.url(),
    });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    let polling_url = task["polling_url"].as_str().unwrap();
    assert_eq!(bench.get(polling_url).await.status, 502);
    for _ in 0..3 {
        bench.sim.clock().advance(Duration::from_secs(1));
        bench.poll(&task).await;
    }
    bench.sim.clock().advance(HOUR);
    receiver.respond_with(204).await;
    let ended = |all: &[imagekiln_simulator::WebhookDelivery]| {
        all.iter().all(|one| one.state == WebhookState::Delivered)
    };
    bench.sim.webhooks_when(ended).await;
    bench.sim.clock().advance(Duration::from_secs(1));
    let poll = bench.poll(&task).await;
    let sample = poll["result"]["sample"].as_str().unwrap();
    let broken = Raw::send("GET", sample, &[], "").await;
    assert!(broken.header("content-length").unwrap().parse() != Ok(broken.body.len()));
    bench.sim.clock().advance(Duration::from_secs(1));
    bench.fetch(sample).await;

    let shown = bench.show(&path(&task)).await;
    let webhook = format!("to {}: status code 204", receiver.url());
    assert_eq!(
        events(&shown),
        [
            ("accepted", "", 1),
            ("poll-failed", "html-502", 1),
            ("polled", "Pending", 3),
            ("ended", "Ready", 1),
            ("webhook-sent", &*webhook, 1),
            ("polled", "Ready", 1),
            ("delivery-failed", "truncated", 1),
            ("delivered", "", 1),
        ]
    );
    let polls = &shown["timeline"][2];
    assert_eq!(polls["last_at"].as_f64().unwrap() - polls["at"].as_f64().unwrap(), 2.0);
}

#[tokio::test]
async fn the_timeline_has_at_most_twenty_four_different_events_of_clients() {
    let in_progress = (0..30).map(|status| format!("Step {status}")).collect();
    let config = Config { in_progress, ready_after: HOUR, speed: 0.0, ..Config::default() };
    let bench = Bench::with(config).await;
    let body = small("a fox");
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    for _ in 0..30 {
        bench.poll(&task).await;
        bench.poll(&task).await;
        bench.sim.clock().advance(HOUR / 30);
    }
    let shown = bench.show(&path(&task)).await;
    let events = events(&shown);
    assert_eq!((events.len(), events[24]), (1 + 24 + 1, ("polled", "Step 23", 2)));
    assert_eq!(events[25], ("ended", "Ready", 1));
}

#[tokio::test]
async fn a_task_that_is_finished_ends_at_once_and_its_webhook_is_sent() {
    let (bench, mut receiver) = (slow().await, Receiver::start().await);
    let body = json!({
        "prompt": "a fox", "width": 64, "height": 64, "webhook_url": receiver.url(),
    });
    let (task, other) =
        (bench.submit("/v1/gen-2-pro", &body).await, bench.submit("/v1/gen-2-pro", &body).await);
    let before = bench.sim.clock().now();
    let finish = format!("{}/finish", path(&task));
    for _ in 0..2 {
        let shown = bench.change("POST", &finish, json!({})).await;
        assert_eq!(shown["status"], "Ready");
    }
    assert_eq!(bench.sim.clock().now(), before, "the clock stays");
    assert_eq!(bench.poll(&other).await["status"], "Pending");
    let poll = bench.poll(&task).await;
    let hit = receiver.respond_with(200).await;
    assert_eq!(serde_json::from_slice::<Value>(&hit.body).unwrap(), poll);
    assert_eq!(bench.fetch(poll["result"]["sample"].as_str().unwrap()).await.status, 200);
    let counts = bench.sim.counts();
    assert_eq!((counts.ready, counts.accepted), (1, 2));
    bench.sim.clock().advance(HOUR);
    assert_eq!(bench.sim.counts().ready, 2);
    receiver.respond_with(200).await;

    let unknown = bench.control("POST", "/api/tasks/x/finish", Some(json!({}))).await;
    assert_eq!(unknown.status, 404);
    let extra = bench.control("POST", &finish, Some(json!({ "at": 1 }))).await;
    assert_eq!(extra.status, 422);
}

#[tokio::test]
async fn the_images_of_a_request_are_served_while_they_are_stored() {
    let bench = Bench::new().await;
    let image = png(40, 30);
    let body = json!({ "prompt": "x", "input_image": "https://example.com/a.png",
        "input_image_2": image });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    let shown = bench.show(&path(&task)).await;
    let file = format!("{}/images/1", path(&task));
    let expected = json!([{
        "field": "input_image_2", "is_mask": false, "width": 40, "height": 30, "file": file,
    }]);
    assert_eq!(shown["images"], expected);
    let response = bench.control("GET", &file, None).await;
    assert_eq!(response.headers["content-type"], "image/png");
    assert_eq!(STANDARD.encode(&response.body), image);
    for missing in ["0", "2", "x"] {
        let missing = format!("{}/images/{missing}", path(&task));
        assert_eq!(bench.control("GET", &missing, None).await.status, 404, "{missing}");
    }
    bench.sim.clock().advance(Duration::from_secs(700));
    bench.sim.counts();
    assert_eq!(bench.show(&path(&task)).await["images"], json!([]));
    assert_eq!(bench.control("GET", &file, None).await.status, 404);
}

#[tokio::test]
async fn a_failed_task_says_why_once_it_has_failed() {
    let bench = Bench::new().await;
    for (prompt, reason) in [
        ("a fox", json!(null)),
        ("x [[error]]", json!("The request contains [[error]].")),
        (
            "gore",
            json!(
                "Moderation found \u{201c}gore\u{201d} in the request: its severity of 3 is \
                 above the safety tolerance of 2."
            ),
        ),
    ] {
        let body = small(prompt);
        let task = bench.submit("/v1/gen-2-pro", &body).await;
        assert_eq!(bench.show(&path(&task)).await["reason"], json!(null), "{prompt}");
        bench.finish(&task).await;
        assert_eq!(bench.show(&path(&task)).await["reason"], reason);
    }
}
