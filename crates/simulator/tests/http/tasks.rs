//! The life of a task.

use std::{net::SocketAddr, time::Duration};

use serde_json::json;

use super::bench::{Bench, png, small};
use imagekiln_simulator::{Config, Region, Simulator, StartError};

#[tokio::test(start_paused = true)]
async fn statuses_follow_the_clock_and_stay_final() {
    let bench = Bench::with(Config {
        ready_after: Duration::from_secs(40),
        in_progress: ["Queued", "Half Baked", "Cooling"].map(str::to_owned).to_vec(),
        ..Config::default()
    })
    .await;
    let task = bench.submit("/v1/gen-2-pro", &small("x")).await;
    let accepted = bench.view(&task).accepted_at;
    for (second, status) in [
        (0, "Queued"),
        (12, "Queued"),
        (14, "Half Baked"),
        (27, "Cooling"),
        (39, "Cooling"),
        (40, "Ready"),
        (9999, "Ready"),
    ] {
        bench.sim.clock().advance_to(accepted + Duration::from_secs(second));
        let poll = bench.poll(&task).await;
        assert_eq!(poll["status"], status, "after {second} s");
        assert_eq!(poll.get("result").is_some(), status == "Ready");
    }
}

#[tokio::test(start_paused = true)]
async fn the_clock_follows_a_paused_runtime() {
    let bench =
        Bench::with(Config { ready_after: Duration::from_secs(3600), ..Config::default() }).await;
    let task = bench.submit("/v1/gen-2-pro", &small("x")).await;
    assert_eq!(bench.poll(&task).await["status"], "Pending");
    tokio::time::sleep(Duration::from_secs(3599)).await;
    assert_eq!(bench.poll(&task).await["status"], "Pending");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let poll = bench.poll(&task).await;
    assert_eq!(poll["status"], "Ready");
    let sample = poll["result"]["sample"].as_str().unwrap();
    assert_eq!(bench.fetch(sample).await.status, 200);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(bench.fetch(sample).await.status, 403);
}

#[tokio::test]
async fn words_select_the_outcome_of_a_task() {
    let bench = Bench::new().await;
    for (word, status) in [
        ("[[error]]", "Error"),
        ("[[request-moderated]]", "Request Moderated"),
        ("[[content-moderated]]", "Content Moderated"),
        ("[[not-found]]", "Task not found"),
    ] {
        let mut asked = vec![("/v1/gen-2-pro", small(&format!("a fox {word}")))];
        // Without a prompt, any other text works.
        asked.push(("/v1/gen-tools/deblur-v1", json!({ "image": png(8, 8), "note": word })));
        asked.push(("/v1/gen-tools/vto-v1", json!({ "garments": [{ "name": word }] })));
        for (path, body) in asked {
            let task = bench.submit(path, &body).await;
            assert_eq!(bench.poll(&task).await["status"], "Pending");
            let poll = bench.finish(&task).await;
            assert_eq!(poll, json!({ "id": task["id"], "status": status }));
        }
    }
    let task = bench.submit("/v1/gen-2-pro", &small("[[unknown-status]]")).await;
    assert_eq!(bench.poll(&task).await["status"], "Warming the kiln");
    assert_eq!(bench.finish(&task).await["status"], "Ready");

    let counts = bench.sim.counts();
    assert_eq!((counts.accepted, counts.ready, counts.failed), (13, 1, 12));
}

#[tokio::test]
async fn a_task_is_known_only_at_its_base_url() {
    let bench = Bench::new().await;
    let (base, body) = (bench.sim.regional_base_url(), r#"{"finetune_id":"fox-style"}"#);
    let task = bench.post_at(base, "/v1/gen-pro-1.1-ultra-finetuned", body).await.json();
    assert_eq!(bench.poll(&task).await["status"], "Pending");
    let elsewhere =
        format!("{}/v1/get_result?id={}", bench.sim.base_url(), task["id"].as_str().unwrap());
    assert_eq!(bench.get(&elsewhere).await.json()["status"], "Task not found");
    let view = bench.view(&task);
    assert_eq!((view.region, view.polls), (Region::Regional, 1));
}

#[tokio::test]
async fn a_task_shows_its_request_without_images_and_secrets() {
    let bench = Bench::new().await;
    let image = png(30, 20);
    let mut body = small("a fox");
    body["input_image"] = image.as_str().into();
    body["input_image_2"] = "https://example.com/b.png?signature=hidden".into();
    body["webhook_secret"] = "hidden".into();
    body["webhook_url"] = "http://me:hidden@127.0.0.1:9/hook?token=hidden".into();
    body["extra"] = json!({ "kept": [1, null, "two"] });
    let task = bench.submit("/v1/gen-2-flex", &body).await;
    let view = bench.view(&task);
    assert_eq!(view.operation, "gen-2-flex");
    assert_eq!(view.request["prompt"], "a fox");
    assert_eq!(view.request["width"], 64);
    assert_eq!(view.request["webhook_url"], "http://127.0.0.1:9/hook");
    assert_eq!(view.request["extra"], body["extra"]);
    assert!(
        view.request["input_image"].as_str().unwrap().starts_with("[image/png of 30 x 20 pixels, ")
    );
    assert_eq!(view.request["input_image_2"], "[an image at example.com, not fetched]");
    let debug = format!("{view:?} {:?}", Config::default());
    for hidden in ["hidden", &image, bench.sim.api_key()] {
        assert!(!debug.contains(hidden), "{debug}");
    }
    assert!(bench.sim.task("no such task").is_none());
    assert_eq!(bench.sim.tasks().len(), 1);
}

#[tokio::test]
async fn a_large_request_is_not_kept() {
    let bench = Bench::new().await;
    let mut body = small("a fox");
    body["extra"] = "x".repeat(256 << 10).into();
    let task = bench.submit("/v1/gen-2-flex", &body).await;
    let view = bench.view(&task);
    let note = view.request.as_str().unwrap();
    assert!(note.starts_with("[a request of ") && view.prompt.is_empty(), "{note}");
}

#[tokio::test]
async fn ids_and_seeds_come_from_the_configured_seed() {
    async fn drawn(seed: u64) -> Vec<(String, i128)> {
        let bench = Bench::with(Config { seed: Some(seed.into()), ..Config::default() }).await;
        for _ in 0..3 {
            bench.submit("/v1/gen-2-pro", &small("x")).await;
        }
        bench.sim.tasks().into_iter().map(|task| (task.id, task.seed)).collect()
    }
    let first = drawn(1).await;
    assert_eq!(first, drawn(1).await);
    let other = drawn(2).await;
    assert!(first.iter().zip(&other).all(|(a, b)| a.0 != b.0 && a.1 != b.1));
    assert!(first[0] != first[1] && first[1] != first[2]);
    for (id, _) in first.iter().chain(&other) {
        let groups: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12], "a UUID of version 4: {id}");
        assert!(&id[14..15] == "4" && "89ab".contains(&id[19..20]), "{id}");
        assert!(id.chars().all(|c| c == '-' || c.is_ascii_hexdigit() && !c.is_uppercase()), "{id}");
    }
}

#[tokio::test]
async fn it_listens_where_the_settings_allow_it() {
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let start = async |config| Simulator::start(config).await.err();
    let refused = start(Config { listen: Some(any), ..Config::default() }).await;
    assert!(matches!(refused, Some(StartError::NotLoopback { address }) if address == any));
    let refused = start(Config { regional_listen: Some(any), ..Config::default() }).await;
    assert!(matches!(refused, Some(StartError::NotLoopback { .. })));
    let sim =
        Simulator::start(Config { listen: Some(any), allow_remote: true, ..Config::default() })
            .await
            .unwrap();
    assert!(sim.base_url().starts_with("http://127.0.0.1:"));
    let taken = sim.base_url().strip_prefix("http://").unwrap().parse().unwrap();
    assert!(matches!(
        start(Config { listen: Some(taken), ..Config::default() }).await,
        Some(StartError::Listen { .. })
    ));
}

#[tokio::test]
async fn it_stops_when_it_is_dropped_or_shut_down() {
    for graceful in [false, true] {
        let bench = Bench::new().await;
        let address = bench.sim.base_url().trim_start_matches("http://").to_owned();
        let task = bench.submit("/v1/gen-2-pro", &small("x")).await;
        assert!(task["id"].is_string());
        let Bench { sim, .. } = bench;
        if graceful {
            sim.shutdown().await;
        } else {
            drop(sim);
        }
        // The listener closes on the server's next turn at the latest.
        let mut turns = 0;
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            turns += 1;
            assert!(turns < 1000, "the simulator still accepts connections");
            tokio::task::yield_now().await;
        }
        assert!(!graceful || turns == 0);
    }
}
