//! Moderation, times, the maximum of active tasks, and the limit of kept data.

use std::time::Duration;

use serde_json::json;

use super::bench::{Bench, png, small};
use imagekiln_simulator::Config;

#[tokio::test]
async fn moderation_compares_words_with_the_safety_tolerance() {
    let config = Config::from_toml(
        "[moderation]\ninput = { cruelty = 1, 'two words' = 3 }\noutput = { gloom = 6 }\n",
    );
    let bench = Bench::with(config.unwrap()).await;
    for (prompt, tolerance, status) in [
        ("Cruelty!", Some(0), "Request Moderated"),
        ("Cruelty!", Some(1), "Ready"),
        ("cruelty", None, "Ready"),
        ("here are two words", None, "Request Moderated"),
        ("here are two words", Some(3), "Ready"),
        ("two  words", Some(0), "Ready"),
        ("gloom", Some(5), "Content Moderated"),
        ("gloomy", Some(0), "Ready"),
        ("gloom and cruelty", Some(0), "Request Moderated"),
        ("cruelty [[error]]", Some(0), "Error"),
    ] {
        let mut body = small(prompt);
        if let Some(tolerance) = tolerance {
            body["safety_tolerance"] = tolerance.into();
        }
        let task = bench.submit("/v1/gen-2-pro", &body).await;
        assert_eq!(bench.finish(&task).await["status"], status, "{body}");
    }
    // Images and secrets are ignored, and so are their replacements in the log.
    let mut body = small("a fox");
    body["input_image"] = "https://gloom.example.com/cruelty.png".into();
    body["webhook_secret"] = "gloom".into();
    body["safety_tolerance"] = 0.into();
    let task = bench.submit("/v1/gen-2-flex", &body).await;
    assert_eq!(bench.finish(&task).await["status"], "Ready");
    // The configured list replaces the default one.
    let task = bench.submit("/v1/gen-2-pro", &small("gore")).await;
    assert_eq!(bench.finish(&task).await["status"], "Ready");
}

#[tokio::test]
async fn by_default_gore_and_blood_are_moderated() {
    let bench = Bench::new().await;
    for (prompt, tolerance, status) in [
        ("Gore, again", 2, "Request Moderated"),
        ("Gore, again", 3, "Ready"),
        ("a bit of BLOOD", 0, "Content Moderated"),
        ("a bit of BLOOD", 1, "Ready"),
        ("gore and blood", 0, "Request Moderated"),
        ("Gorezone, categore, bloody and blood2", 0, "Ready"),
    ] {
        let mut body = small(prompt);
        body["safety_tolerance"] = tolerance.into();
        let task = bench.submit("/v1/gen-2-pro", &body).await;
        assert_eq!(bench.finish(&task).await["status"], status, "{prompt} {tolerance}");
    }
}

#[tokio::test]
async fn the_time_can_be_set_per_model() {
    let config = Config::from_toml(
        "ready_after = 10\n[ready_after_of]\n\
         'gen-2-*' = 20\n'gen-2-flex' = 0.5\n'gen-2-flex*' = 30\n'gen-2-klein-*' = 40\n",
    );
    let bench = Bench::with(config.unwrap()).await;
    for (path, millis) in
        [("/v1/gen-2-flex", 500), ("/v1/gen-2-pro", 20_000), ("/v1/gen-2-klein-4b", 40_000)]
    {
        let task = bench.submit(path, &small("x")).await;
        let view = bench.view(&task);
        assert_eq!(view.final_at - view.accepted_at, Duration::from_millis(millis), "{path}");
    }
    let task = bench.submit("/v1/gen-dev", &json!({ "prompt": "x" })).await;
    let view = bench.view(&task);
    assert_eq!(view.final_at - view.accepted_at, Duration::from_secs(10));
}

#[tokio::test]
async fn durations_vary_by_the_spread_and_repeat_with_the_seed() {
    let durations = async |spread: f64, seed: u64| {
        let bench = Bench::with(Config {
            ready_after: Duration::from_secs(100),
            ready_after_spread: spread,
            ready_after_of: [("gen-2-flex".to_owned(), Duration::from_secs(10))].into(),
            seed: Some(seed.into()),
            ..Config::default()
        });
        let bench = bench.await;
        for path in ["/v1/gen-2-pro", "/v1/gen-2-flex"].repeat(20) {
            bench.submit(path, &small("x")).await;
        }
        let all = bench.sim.tasks().into_iter();
        let all = all.map(|task| (task.final_at - task.accepted_at).as_secs_f64());
        assert_eq!(bench.show("/api/state").await["ready_after_spread"], spread);
        let (flex, pro): (Vec<_>, Vec<_>) = all.partition(|seconds| *seconds < 50.0);
        assert_eq!(flex.len(), 20);
        // In per cent of the setting.
        [pro, flex.into_iter().map(|seconds| seconds * 10.0).collect()].concat()
    };
    let first = durations(0.2, 7).await;
    assert!(first.iter().all(|one| (80.0..=120.0).contains(one)), "{first:?}");
    // None of these fails by chance, because the seed is fixed.
    let (least, most) = (f64::min, f64::max);
    assert!(first.iter().copied().reduce(least).unwrap() < 85.0, "{first:?}");
    assert!(first.iter().copied().reduce(most).unwrap() > 115.0, "{first:?}");
    assert_eq!(durations(0.2, 7).await, first);
    assert_ne!(durations(0.2, 8).await, first);
    assert_eq!(durations(0.0, 7).await, [100.0; 40]);
}

#[tokio::test(start_paused = true)]
async fn at_the_maximum_of_active_tasks_retry_after_is_exact() {
    let config = Config {
        max_active_tasks: 2,
        ready_after: Duration::from_millis(7_500),
        ready_after_of: [("gen-2-flex".to_owned(), Duration::from_secs(60))].into(),
        ..Config::default()
    };
    let bench = Bench::with(config).await;
    bench.submit("/v1/gen-2-flex", &small("x")).await;
    bench.submit("/v1/gen-2-pro", &small("x")).await;
    let response = bench.post("/v1/gen-2-pro", &small("x")).await;
    assert_eq!(
        (response.status.as_u16(), &response.headers["retry-after"]),
        (429, &"8".parse().unwrap())
    );
    assert_eq!(response.json()["detail"], "The project has reached its limit of 2 active tasks");
    assert_eq!((bench.sim.counts().accepted, bench.sim.counts().charged.hundredths()), (2, 600));
    // A slower clock makes the wait longer in real time.
    bench.sim.clock().set_speed(0.25);
    assert_eq!(bench.post("/v1/gen-2-pro", &small("x")).await.headers["retry-after"], "30");
    bench.sim.clock().set_speed(1.0);
    // A task that has ended is not active any more, even if nobody polled it.
    bench.sim.clock().advance(Duration::from_secs(8));
    bench.submit("/v1/gen-2-pro", &small("x")).await;
    assert_eq!(bench.post("/v1/gen-2-pro", &small("x")).await.status, 429);
}

#[tokio::test]
async fn above_the_size_limit_the_oldest_finished_tasks_are_dropped() {
    let config = Config { max_kept_bytes: 25_000, speed: 0.0, ..Config::default() };
    let bench = Bench::with(config).await;
    let mut first = Vec::new();
    for _ in 0..5 {
        first.push(bench.submit("/v1/gen-2-pro", &small("x")).await);
    }
    bench.sim.clock().advance(Duration::from_secs(1));
    assert_eq!(bench.poll(&first[0]).await["status"], "Ready");
    for _ in 0..6 {
        bench.submit("/v1/gen-2-pro", &small("x")).await;
    }
    assert_eq!(bench.poll(&first[0]).await["status"], "Task not found");
    assert_eq!(bench.poll(&first[4]).await["status"], "Ready");
    // Tasks in progress are always kept.
    let image = png(200, 200);
    for _ in 0..12 {
        let mut body = small("x");
        body["input_image"] = image.as_str().into();
        bench.submit("/v1/gen-2-pro", &body).await;
    }
    let active = bench.sim.tasks().iter().filter(|task| task.status == "Pending").count();
    assert_eq!(active, 18);
    let counts = bench.sim.counts();
    assert_eq!((counts.accepted, counts.ready), (23, 5), "dropped tasks are still counted");
}

#[tokio::test]
async fn rendered_pictures_count_toward_the_limit() {
    let bench = Bench::with(Config { max_kept_bytes: 50_000, ..Config::default() }).await;
    let body = json!({ "prompt": "x", "width": 512, "height": 512, "output_format": "png" });
    let first = bench.submit("/v1/gen-2-pro", &body).await;
    let sample = bench.sample(&first).await;
    assert!(bench.fetch(&sample).await.body.len() > 50_000);
    assert_eq!(bench.fetch(&sample).await.status, 404);
    assert_eq!(bench.poll(&first).await["status"], "Task not found");
}
