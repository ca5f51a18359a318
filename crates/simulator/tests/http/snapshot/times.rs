//! Times are relative to the moment of the snapshot.

use serde_json::{Value, json};

use super::config;
use crate::bench::{Bench, small};

/// Another simulator, whose clock has just started.
async fn restored(document: &Value) -> Bench {
    let bench = Bench::with(config()).await;
    assert_eq!(bench.restore(document).await.status, 200);
    bench
}

#[tokio::test]
async fn what_is_left_of_a_task_is_left_after_the_restore() {
    let first = Bench::with(config()).await;
    first.advance(1000.0);
    let task = first.submit("/v1/gen-2-flex", &small("a")).await;
    let training = first.submit("/v1/finetune", &json!({ "name": "trained" })).await;
    first.advance(4.5);
    let document = first.snapshot().await;
    let second = Bench::with(config()).await;
    for other_time in [0.0, 5000.0] {
        second.advance(other_time);
        assert_eq!(second.restore(&document).await.status, 200);
        let url = |url: &str| url.replace(first.sim.base_url(), second.sim.base_url());
        let poll = async || {
            let url = url(task["polling_url"].as_str().unwrap());
            second.get(&url).await.json()["status"].take()
        };
        let finetunes = || second.sim.organizations()[1].finetunes.len();
        second.advance(5.499);
        assert_eq!((poll().await, finetunes()), (json!("Pending"), 1));
        second.advance(0.001);
        assert_eq!((poll().await, finetunes()), (json!("Ready"), 2));
    }
    assert!(training["id"].is_string());
}

#[tokio::test]
async fn delivery_urls_stay_valid_for_as_long_as_before() {
    let first = Bench::with(config()).await;
    let task = first.submit("/v1/gen-2-flex", &small("a")).await;
    first.advance(9.0);
    let sample = first.sample(&task).await;
    first.advance(590.0);
    let document = first.snapshot().await;
    // Its clock is younger than the task.
    let second = restored(&document).await;
    let here = |url: &str| url.replace(first.sim.base_url(), second.sim.base_url());
    let poll = async || second.get(&here(task["polling_url"].as_str().unwrap())).await.json();
    let sample_now = poll().await["result"]["sample"].as_str().unwrap().to_owned();
    assert_eq!(second.fetch(&sample_now).await.status, 200);
    assert_eq!(second.fetch(&here(&sample)).await.status, 200, "the secret is the same");
    second.advance(9.0);
    assert_eq!(second.fetch(&sample_now).await.status, 200);
    second.advance(3.0);
    assert_eq!(second.fetch(&sample_now).await.status, 403, "it expires as it would have");
    let third = restored(&second.snapshot().await).await;
    let url = task["polling_url"].as_str().unwrap();
    let poll = third.get(&url.replace(first.sim.base_url(), third.sim.base_url())).await.json();
    let sample = poll["result"]["sample"].as_str().unwrap().to_owned();
    assert_eq!(third.fetch(&sample).await.status, 403, "what has expired stays so");
    let view = third.view(&task);
    assert!(view.accepted_at.is_zero() && view.final_at.is_zero(), "before its start");
}
