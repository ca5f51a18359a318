//! How late clients notice that tasks are ready, on a stopped clock that only the tests advance.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    bench::{Bench, small},
    webhook_receiver::Receiver,
};
use imagekiln_simulator::Config;

const PATH: &str = "/v1/gen-2-pro";

/// A simulator on a stopped clock, whose tasks take a second.
async fn stopped() -> Bench {
    Bench::with(Config { speed: 0.0, ..Config::default() }).await
}

fn advance(bench: &Bench, seconds: f64) {
    bench.sim.clock().advance(Duration::from_secs_f64(seconds));
}

/// `found_after`, `fetched_after` and `polls` of a task, which the list and the details agree on.
async fn measured(bench: &Bench, task: &Value) -> Value {
    let id = task["id"].as_str().unwrap();
    let of = |task: &Value| json!([task["found_after"], task["fetched_after"], task["polls"]]);
    let shown = of(&bench.show(&format!("/api/tasks/{id}")).await);
    let page = bench.show("/api/tasks").await;
    let listed = page["tasks"].as_array().unwrap().iter().find(|listed| listed["id"] == id);
    assert_eq!(of(listed.unwrap()), shown);
    shown
}

async fn lateness(bench: &Bench) -> Value {
    bench.show("/api/state").await["lateness"].take()
}

#[tokio::test]
async fn the_first_poll_with_the_status_and_the_first_request_for_the_picture_count() {
    let bench = stopped().await;
    let task = bench.submit(PATH, &small("a fox [[html-502@delivery]]")).await;
    bench.poll(&task).await;
    assert_eq!(measured(&bench, &task).await, json!([null, null, 1]));

    // One fault replaces the response to a poll, the other its status.
    advance(&bench, 1.0);
    let url = task["polling_url"].as_str().unwrap();
    for fault in ["html-502", "unknown-status"] {
        advance(&bench, 0.03);
        bench.get_faulty(url, fault).await;
    }
    assert_eq!(measured(&bench, &task).await, json!([null, null, 2]));

    advance(&bench, 0.06);
    let sample = bench.poll(&task).await["result"]["sample"].as_str().unwrap().to_owned();
    let forged = bench.fetch(&sample.replace("signature=", "signature=x")).await;
    assert_eq!(forged.status, 403);
    assert_eq!(measured(&bench, &task).await, json!([0.12, null, 3]));

    advance(&bench, 0.03);
    assert_eq!(bench.fetch(&sample).await.status, 502);
    advance(&bench, 5.0);
    bench.poll(&task).await;
    assert_eq!(bench.fetch(&sample).await.status, 200);
    assert_eq!(measured(&bench, &task).await, json!([0.12, 0.15, 4]));
    assert_eq!(
        lateness(&bench).await,
        json!({
            "found": { "count": 1, "mean": 0.12, "p99": 0.12, "max": 0.12 },
            "fetched": { "count": 1, "mean": 0.15, "p99": 0.15, "max": 0.15 },
            "polls": { "mean": 4.0, "max": 4 },
        })
    );
    let view = bench.view(&task);
    assert_eq!(view.found_after, Some(Duration::from_millis(120)));
    assert_eq!(view.fetched_after, Some(Duration::from_millis(150)));
}

#[tokio::test]
async fn the_summary_has_exact_means_and_maxima_and_a_rounded_p99() {
    let bench = stopped().await;
    let mut tasks = Vec::new();
    for _ in 0..100 {
        tasks.push(bench.submit(PATH, &small("a fox")).await);
    }
    advance(&bench, 1.0);
    // The delays are 1.00123 s times the numbers from 1 to 100. The last task is polled twice more.
    for task in tasks.iter().chain([&tasks[99]; 2]) {
        advance(&bench, 1.00123);
        bench.poll(task).await;
    }
    let summary = lateness(&bench).await;
    let found = json!({ "count": 100, "mean": 50.562115, "p99": 99.2, "max": 100.123 });
    assert_eq!(summary["found"], found, "99 * 1.00123 is 99.12177");
    let nothing = json!({ "count": 0, "mean": null, "p99": null, "max": null });
    assert_eq!(summary["fetched"], nothing);
    assert_eq!(summary["polls"], json!({ "mean": 1.02, "max": 3 }));
    let found = bench.sim.lateness().found;
    assert_eq!((found.count, found.p99), (100, Some(Duration::from_millis(99_200))));

    bench.change("POST", "/api/reset", json!({})).await;
    assert_eq!(bench.sim.lateness(), Default::default());
}

#[tokio::test]
async fn tasks_that_fail_or_do_not_exist_are_never_late() {
    let bench = stopped().await;
    let task = bench.submit(PATH, &small("a fox [[error]]")).await;
    advance(&bench, 2.0);
    assert_eq!(bench.poll(&task).await["status"], "Error");
    let unknown = format!("{}/v1/get_result?id=unknown", bench.sim.base_url());
    assert_eq!(bench.get(&unknown).await.json()["status"], "Task not found");
    assert_eq!(measured(&bench, &task).await, json!([null, null, 1]));
    let summary = lateness(&bench).await;
    assert_eq!((&summary["found"]["count"], &summary["polls"]["max"]), (&json!(0), &json!(1)));
    assert_eq!(summary["polls"]["mean"], 1.0);
}

#[tokio::test]
async fn a_client_that_trusts_webhooks_fetches_without_a_poll() {
    let (bench, mut receiver) = (stopped().await, Receiver::start().await);
    let mut body = small("a fox");
    body["webhook_url"] = json!(receiver.url());
    let task = bench.submit(PATH, &body).await;
    advance(&bench, 1.0);
    let result = receiver.respond_with(204).await.json();
    advance(&bench, 0.25);
    let picture = bench.fetch(result["result"]["sample"].as_str().unwrap()).await;
    assert_eq!(picture.status, 200);
    assert_eq!(measured(&bench, &task).await, json!([null, 0.25, 0]));
}
