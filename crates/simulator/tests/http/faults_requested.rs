//! How faults are requested, how often they apply, and which rejections come first.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;

use super::bench::{Bench, Response, png, small};
use imagekiln_simulator::{Config, Secret};

/// The status codes of `count` equal submissions.
async fn statuses(bench: &Bench, prompt: &str, count: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..count {
        statuses.push(bench.post("/v1/gen-2-pro", &small(prompt)).await.status.as_u16());
    }
    statuses
}

async fn with_header(bench: &Bench, key: &str, fault: &str) -> Response {
    let headers =
        [("x-key", key), ("content-type", "application/json"), ("x-simulator-fault", fault)];
    let url = format!("{}/v1/gen-2-pro", bench.sim.base_url());
    bench.send("POST", &url, &headers, small("a fox").to_string()).await
}

#[tokio::test]
async fn a_fault_applies_as_often_as_requested() {
    let bench = Bench::new().await;
    assert_eq!(statuses(&bench, "[[html-502:3x]]", 5).await, [502, 502, 502, 200, 200]);
    assert_eq!(statuses(&bench, "[[html-502:always]]", 4).await, [502; 4]);
    assert_eq!(statuses(&bench, "[[html-502:1.0]]", 4).await, [502; 4]);
    assert_eq!(statuses(&bench, "[[html-502:0.0]]", 4).await, [200; 4]);
    // Of faults that exclude each other, only the first one is used up.
    assert_eq!(
        statuses(&bench, "[[error-after:2x]] [[rate-limited]] [[html-502]]", 5).await,
        [500, 500, 429, 502, 200]
    );

    let task =
        bench.submit("/v1/gen-2-pro", &small("[[html-502@poll:2x]] [[reset@delivery:2x]]")).await;
    let url = task["polling_url"].as_str().unwrap();
    for status in [502, 502, 200, 200] {
        assert_eq!(bench.get(url).await.status, status);
    }
    // Each task has its own faults.
    let task =
        bench.submit("/v1/gen-2-pro", &small("[[html-502@poll:2x]] [[reset@delivery:2x]]")).await;
    assert_eq!(bench.get(task["polling_url"].as_str().unwrap()).await.status, 502);
    assert_eq!(bench.sim.counts().faults["html-502"], 3 + 4 + 4 + 1 + 2 + 1);
}

#[tokio::test]
async fn a_repeated_submission_has_the_same_body_key_and_header() {
    let keys = ["one", "two"].map(Secret::from).to_vec();
    let bench = Bench::with(Config { api_keys: keys, ..Config::default() }).await;
    for (key, fault, status) in [
        ("one", "html-502", 502),
        ("two", "html-502", 502),
        ("one", "html-502", 200),
        ("two", "html-502", 200),
        ("one", "html-502, slow-body=0", 502),
        ("one", "html-502, slow-body=0", 200),
        ("one", "html-502", 200),
    ] {
        assert_eq!(with_header(&bench, key, fault).await.status, status, "{key} {fault}");
    }
    assert_eq!(statuses(&bench, "[[html-502]] a", 2).await, [502, 200]);
    assert_eq!(statuses(&bench, "[[html-502]] b", 2).await, [502, 200]);
}

#[tokio::test]
async fn a_thousand_repeated_submissions_are_remembered() {
    let bench = Bench::new().await;
    for number in 0..=1024 {
        assert_eq!(statuses(&bench, &format!("[[html-502:2x]] {number}"), 1).await, [502]);
    }
    assert_eq!(statuses(&bench, "[[html-502:2x]] 1", 2).await, [502, 200]);
    assert_eq!(statuses(&bench, "[[html-502:2x]] 1024", 2).await, [502, 200]);
    assert_eq!(statuses(&bench, "[[html-502:2x]] 0", 3).await, [502, 502, 200], "the oldest");
}

#[tokio::test]
async fn a_request_has_at_most_sixteen_faults() {
    let bench = Bench::new().await;
    let faults = statuses(&bench, &"[[html-502]] [[ html ]] [[no-fault]]".repeat(20), 17).await;
    assert_eq!(faults, [[502; 16].as_slice(), &[200]].concat());
}

#[tokio::test]
async fn without_a_place_a_fault_of_a_submission_applies_at_the_first_of_its_places() {
    let bench = Bench::new().await;
    let prompt = "[[foreign-polling-host=127.0.0.3:80]] [[spurious-not-found]] [[html]]";
    let task = bench.submit("/v1/gen-2-pro", &small(prompt)).await;
    let url = task["polling_url"].as_str().unwrap();
    let here = url.replace("http://127.0.0.3:80", bench.sim.base_url());
    assert_ne!(url, here);
    assert_eq!(bench.get(&here).await.json()["status"], "Task not found");
    bench.sim.clock().advance(Duration::from_secs(1));
    let sample = bench.get(&here).await.json()["result"]["sample"].as_str().unwrap().to_owned();
    assert!(bench.fetch(&sample).await.body.starts_with(b"<!DOCTYPE html>"));
    assert_eq!(bench.fetch(&sample).await.headers["content-type"], "image/jpeg");
}

#[tokio::test]
async fn random_faults_follow_the_seed() {
    async fn drawn(seed: u64) -> Vec<u16> {
        let faults =
            ["html-502@poll:0.5", "rate-limited@submission:0.3"].map(str::to_owned).to_vec();
        let bench =
            Bench::with(Config { seed: Some(Secret::from(seed)), faults, ..Config::default() })
                .await;
        let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
        let mut drawn = statuses(&bench, "a [[error-before:0.5]]", 30).await;
        for _ in 0..30 {
            drawn.push(bench.get(&url).await.status.as_u16());
        }
        for _ in 0..30 {
            drawn.push(bench.get_faulty(&url, "error-before=503:0.5").await.status.as_u16());
        }
        drawn
    }
    let first = drawn(1).await;
    assert_eq!(first, drawn(1).await);
    assert_ne!(first, drawn(2).await);
    for status in [200, 429, 500, 502, 503] {
        assert!(first.contains(&status), "{status} in {first:?}");
    }
}

#[tokio::test]
async fn rules_can_be_changed_while_the_simulator_runs() {
    let faults = ["rate-limited@submission=2:5x"].map(str::to_owned).to_vec();
    let bench = Bench::with(Config { faults, ..Config::default() }).await;
    let rules = bench.sim.faults();
    assert_eq!(statuses(&bench, "a fox", 2).await, [429; 2]);
    let [storm] = &rules.rules()[..] else { panic!("one rule: {rules:?}") };
    assert_eq!(
        (storm.text.as_str(), storm.applied, storm.left),
        ("rate-limited@submission=2:5x", 2, Some(3))
    );
    assert_eq!(statuses(&bench, "a fox", 4).await, [429, 429, 429, 200]);

    let broken = rules.add("error-before=503").unwrap();
    assert_eq!((broken.id > storm.id, broken.applied, broken.left), (true, 0, None));
    let task = bench.sim.tasks().pop().unwrap();
    let poll = format!("{}/v1/get_result?id={}", bench.sim.base_url(), task.id);
    assert_eq!(statuses(&bench, "a fox", 1).await, [503]);
    assert_eq!(bench.get(&poll).await.status, 503);
    assert_eq!(rules.rules()[1].applied, 2);
    assert!(rules.remove(broken.id));
    assert!(!rules.remove(broken.id));
    assert_eq!(bench.get(&poll).await.status, 200);
    assert_eq!(rules.rules().len(), 1);

    let other = rules.add("html-502@poll").unwrap();
    assert!(other.id > broken.id, "ids are never reused");
    rules.clear();
    assert_eq!((rules.rules(), bench.get(&poll).await.status.as_u16()), (vec![], 200));
    let view = serde_json::to_value(other).unwrap();
    assert_eq!(view, json!({ "id": 3, "text": "html-502@poll", "applied": 0, "left": null }));
}

#[tokio::test]
async fn other_rejections_come_first() {
    let bench = Bench::new().await;
    let sample = bench.sample(&bench.submit("/v1/gen-2-pro", &small("a fox")).await).await;
    let rule = bench.sim.faults().add("error-before").unwrap();
    let base = bench.sim.base_url().to_owned();
    assert_eq!(bench.post("/v1/gen-2-pro", &json!({ "prompt": 1 })).await.status, 422);
    assert_eq!(bench.post("/v1/gen-9", &json!({})).await.status, 404);
    assert_eq!(with_header(&bench, "unknown", "html-502").await.status, 403);
    assert_eq!(bench.get(&format!("{base}/v1/get_result")).await.status, 422);
    assert_eq!(bench.send("POST", &sample, &[], "").await.status, 405);
    assert_eq!(bench.fetch(&sample.replace("signature=", "signature=0")).await.status, 403);
    assert_eq!(bench.fetch(&sample).await.status, 500);
    bench.sim.clock().advance(Duration::from_secs(601));
    assert_eq!(bench.fetch(&sample).await.status, 403);
    assert_eq!(bench.sim.faults().rules()[0].applied, 1);
    assert!(bench.sim.faults().remove(rule.id));
    assert_eq!(bench.sim.counts().faults.values().sum::<u64>(), 1);
}

#[tokio::test]
async fn the_maximum_of_active_tasks_is_checked_after_faults_before_acceptance() {
    let bench = Bench::with(Config { max_active_tasks: 0, ..Config::default() }).await;
    assert_eq!(statuses(&bench, "[[html-502]]", 2).await, [502, 429]);
    for fault in ["reply-lost", "foreign-polling-host", "slow-headers", "slow-body"] {
        assert_eq!(statuses(&bench, &format!("[[{fault}]]"), 1).await, [429]);
    }
    assert_eq!(bench.sim.counts().accepted, 0);
    assert_eq!(bench.sim.counts().faults, BTreeMap::from([("html-502", 1)]));
}

#[tokio::test]
async fn an_invalid_header_is_rejected() {
    let bench = Bench::new().await;
    let many = ["html-502"; 17].join(",");
    for fault in
        ["no-fault", "", "html-502,", "html-502@home", "truncated@poll", "error-before=200", &many]
    {
        let response = with_header(&bench, bench.sim.api_key(), fault).await;
        assert_eq!(response.status, 400, "{fault}");
        let detail = response.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("x-simulator-fault"), "{detail}");
    }
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    assert_eq!(bench.get_faulty(&url, "truncated").await.status, 400);
    let task = bench.submit("/v1/gen-2-pro", &small("a fox")).await;
    let sample = bench.sample(&task).await;
    assert_eq!(bench.get_faulty(&sample, "html-502@poll").await.status, 400);
    assert_eq!((bench.sim.counts().accepted, bench.sim.counts().refused_with(400)), (1, 9));
    // In a prompt, invalid faults are ordinary text.
    for prompt in ["[[no-fault]]", "[[html-502@home]]", "[[truncated@poll]] [[html-502", "[[]]"] {
        assert_eq!(statuses(&bench, prompt, 1).await, [200]);
    }
    assert!(bench.sim.counts().faults.is_empty());
}

/// Neither a fault nor an outcome is requested.
#[tokio::test]
async fn words_in_a_secret_are_ignored() {
    let bench = Bench::new().await;
    let mut body = small("a fox");
    body["webhook_secret"] = "[[html-502]] [[error]]".into();
    let task = bench.submit("/v1/gen-2-flex", &body).await;
    assert_eq!(bench.finish(&task).await["status"], "Ready");
    let body = json!({ "image": png(8, 8), "note": [{ "deep": "[[html-502]]" }] });
    assert_eq!(bench.post("/v1/gen-tools/deblur-v1", &body).await.status, 502);
}
