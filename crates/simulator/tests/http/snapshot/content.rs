//! What a snapshot contains, and what it does not.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ACME_KEY, SECRETS, config, prepared};
use crate::bench::{Bench, small};
use imagekiln_simulator::Config;

/// What the control interface shows of the state. Times are relative to that of the clock.
async fn shown(bench: &Bench) -> Vec<Value> {
    let now = bench.sim.clock().unix_now().as_secs_f64();
    let ago = |time: &Value| json!((now - time.as_f64().unwrap()).round());
    let mut tasks = bench.show("/api/tasks?limit=500").await;
    tasks["now"].take();
    let mut details = Vec::new();
    for task in tasks["tasks"].as_array_mut().unwrap() {
        let id = task["id"].as_str().unwrap().to_owned();
        let mut full = bench.show(&format!("/api/tasks/{id}")).await;
        let timeline = full["timeline"].as_array_mut().unwrap();
        timeline.retain(|entry| !entry["event"].as_str().unwrap().starts_with("webhook"));
        for entry in timeline {
            (entry["at"], entry["last_at"]) = (ago(&entry["at"]), ago(&entry["last_at"]));
        }
        let images = full["images"].as_array().unwrap().clone();
        details.extend([full["timeline"].take(), full["request"].take(), json!(images)]);
        for image in images {
            let url = format!("{}{}", bench.sim.control_url(), image["file"].as_str().unwrap());
            details.push(json!(bench.fetch(&url).await.body.to_vec()));
        }
        for time in ["accepted_at", "final_at"] {
            task[time] = ago(&task[time]);
        }
    }
    let mut organizations = bench.show("/api/organizations").await;
    for organization in organizations["organizations"].as_array_mut().unwrap() {
        for project in organization["projects"].as_array_mut().unwrap() {
            for key in project["keys"].as_array_mut().unwrap() {
                key.as_object_mut().unwrap().remove("can_be_revealed");
            }
        }
    }
    let mut all = vec![tasks, json!(details), organizations];
    for path in ["/api/faults", "/api/audit?limit=1000", "/api/ledger?limit=1000"] {
        all.push(bench.show(path).await);
    }
    let mut state = bench.show("/api/state").await;
    all.extend([state["counts"].take(), state["lateness"].take()]);
    all
}

#[tokio::test]
async fn everything_survives_in_another_simulator() {
    let first = prepared().await;
    let document = first.snapshot().await;
    let second = Bench::restored(Config::default(), &document).await;
    assert_eq!(second.snapshot().await, document);
    for (before, after) in shown(&first).await.into_iter().zip(shown(&second).await) {
        assert_eq!(after, before);
    }
    assert_eq!(second.sim.counts(), first.sim.counts());
    assert_eq!(second.sim.clock().speed(), 0.0);
    assert!(second.sim.webhooks().is_empty() && second.sim.requests().is_empty());
    assert!(first.sim.webhooks().len() + first.sim.requests().len() > 10);
    let mut pictures = 0;
    for task in first.sim.tasks().into_iter().filter(|task| task.status == "Ready") {
        let picture = async |bench: &Bench| {
            let path = format!("/api/tasks/{}/picture", task.id);
            bench.control("GET", &path, None).await
        };
        let (before, after) = (picture(&first).await, picture(&second).await);
        assert_eq!((before.status, before.body), (after.status, after.body), "{task:?}");
        pictures += u32::from(before.status == 200);
    }
    assert_eq!(pictures, 4, "with that of the request whose images were dropped");
}

#[tokio::test]
async fn what_follows_is_the_same() {
    let first = prepared().await;
    let second = Bench::restored(config(), &first.snapshot().await).await;
    let mut seen = Vec::new();
    for bench in [&first, &second] {
        let mut here = Vec::new();
        for key in [ACME_KEY, "made-at-run-time", "another-key", bench.sim.api_key()] {
            let response = bench.post_as(key, "/v1/gen-2-flex", &small("a")).await;
            here.push((response.status.as_u16(), response.json()["id"].take()));
        }
        let made = json!({ "name": "next" });
        let keys = "/api/organizations/acme/projects/web/keys";
        here.push((0, bench.change("POST", keys, made).await));
        // Drawn by chance, as often as before.
        bench.sim.faults().add("html-502@submission:0.5").unwrap();
        for _ in 0..10 {
            let response = bench.post("/v1/gen-2-flex", &small("a")).await;
            here.push((response.status.as_u16(), Value::Null));
        }
        here.push((0, json!(bench.sim.faults().rules().last().unwrap().id)));
        seen.push(here);
    }
    assert_eq!(seen[0], seen[1]);
    let codes: Vec<_> = seen[0][..4].iter().map(|(status, _)| *status).collect();
    assert_eq!(codes, [402, 402, 403, 200], "the limit of the project, and the revoked key");
}

#[tokio::test]
async fn secrets_are_not_contained() {
    let bench = prepared().await;
    let text = bench.snapshot().await.to_string();
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret}");
    }
    // Only the digest, and what the page shows.
    let digest: [u8; 32] = Sha256::digest(ACME_KEY).into();
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(text.contains("\"…-web\"") && text.contains(&digest), "{digest}");
}

#[tokio::test]
async fn a_key_can_be_revealed_if_the_simulator_knows_it() {
    let first = prepared().await;
    let document = first.snapshot().await;
    first.change("POST", "/api/reset", json!({})).await;
    assert_eq!(first.restore(&document).await.status, 200);
    let second = Bench::restored(config(), &document).await;
    let reveal = async |bench: &Bench, key: &str| {
        bench.control("POST", &format!("/api/keys/{key}/reveal"), Some(json!({}))).await
    };
    for bench in [&first, &second] {
        assert_eq!(reveal(bench, "key-1").await.json()["key"], ACME_KEY, "it is configured");
        let refused = reveal(bench, "key-3").await;
        assert_eq!(refused.status, 409, "{refused:?}");
        let project = &bench.sim.organizations()[0].projects[0];
        let known: Vec<_> = project.keys.iter().map(|key| key.can_be_revealed).collect();
        assert_eq!(known, [true, false]);
        assert_eq!(bench.show("/api/connection").await["key"], bench.sim.api_key());
    }
    // A key that was known until the snapshot was restored.
    let third = prepared().await;
    assert_eq!(third.restore(&document).await.status, 200);
    assert_eq!(reveal(&third, "key-3").await.json()["key"], "made-at-run-time");
}
