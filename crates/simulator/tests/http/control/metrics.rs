//! The counters in the text format of Prometheus.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;

use crate::bench::{Bench, small};

/// The series of a text by their names and labels, and the type of each metric. Panics if a scraper
/// could not read the text.
fn parse(text: &str) -> (BTreeMap<&str, f64>, BTreeMap<&str, &str>) {
    let (mut series, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    let mut lines = text.lines().peekable();
    assert!(text.ends_with('\n'), "the last line has no end");
    while let Some(line) = lines.next() {
        let (name, help) = line.strip_prefix("# HELP ").unwrap().split_once(' ').unwrap();
        assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_')), "{line}");
        assert!(!help.is_empty() && !help.contains('\\'), "{line}");
        let kind = lines.next().unwrap().strip_prefix(&format!("# TYPE {name} ")).unwrap();
        let meant = match name.rsplit('_').next() {
            Some("total") => "counter",
            Some("seconds") => "histogram",
            _ => "gauge",
        };
        assert_eq!(kind, meant, "{name}");
        assert_eq!(kinds.insert(name, kind), None, "{name} occurs twice");
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let (key, value) = line.rsplit_once(' ').unwrap();
            let rest = key.strip_prefix(name).unwrap();
            let parts = ["_bucket", "_sum", "_count"].iter().filter(|_| kind == "histogram");
            let labels = parts.fold(rest, |rest, part| rest.strip_prefix(part).unwrap_or(rest));
            assert!(labels.is_empty() || is_label(labels), "{line}");
            let value: f64 = value.parse().unwrap();
            assert!(value.is_finite() && value >= 0.0, "{line}");
            assert_eq!(series.insert(key, value), None, "{key} occurs twice");
        }
    }
    (series, kinds)
}

/// Whether the text is `{name="value"}`, with a value that needs no escapes.
fn is_label(text: &str) -> bool {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix("\"}"));
    inner.and_then(|inner| inner.split_once("=\"")).is_some_and(|(name, value)| {
        let is_plain = |byte: u8| {
            matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-')
                || name == "le" && b".+I".contains(&byte)
        };
        name.bytes().all(|byte| byte.is_ascii_lowercase()) && value.bytes().all(is_plain)
    })
}

async fn scrape(bench: &Bench) -> String {
    let response = bench.control("GET", "/metrics", None).await;
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    String::from_utf8(response.body.to_vec()).unwrap()
}

#[tokio::test]
async fn metrics_can_be_scraped() {
    let bench = Bench::new().await;
    let fox = small("a fox");
    bench.sim.clock().set_speed(0.0);
    let task = bench.submit("/v1/gen-2-pro", &fox).await;
    bench.sim.clock().advance(Duration::from_millis(1_250));
    let poll = bench.poll(&task).await;
    bench.sim.clock().advance(Duration::from_millis(1));
    bench.fetch(poll["result"]["sample"].as_str().unwrap()).await;
    let moderated = small("a fox [[content-moderated]]");
    let task = bench.submit("/v1/gen-2-pro", &moderated).await;
    bench.sim.clock().advance(Duration::from_secs(60));
    bench.poll(&task).await;
    let refused = json!({
        "prompt": "a fox", "width": 64, "height": 64,
        "webhook_url": "https://hooks.example.com/done", "webhook_secret": "s3cret",
    });
    bench.submit("/v1/gen-2-pro", &refused).await;
    for _ in 0..2 {
        assert_eq!(bench.post("/v1/gen-2-pro", &json!({ "width": 64 })).await.status, 422);
    }
    bench.change("POST", "/api/faults", json!({ "rule": "html-502@poll" })).await;
    assert_eq!(bench.get(task["polling_url"].as_str().unwrap()).await.status, 502);

    let text = scrape(&bench).await;
    let (series, _) = parse(&text);

    let charged = bench.sim.counts().charged.hundredths() as f64 / 100.0;
    assert!(charged > 0.0);
    let polls = bench.sim.counts().polls as f64;
    for (key, value) in [
        ("submissions_total", 3.0),
        ("credits_charged_total", charged),
        ("active_tasks", 1.0),
        ("tasks_ended_total{outcome=\"ready\"}", 1.0),
        ("tasks_ended_total{outcome=\"failed\"}", 1.0),
        ("polls_total", polls),
        ("found_seconds_bucket{le=\"0.1\"}", 0.0),
        ("found_seconds_bucket{le=\"0.25\"}", 1.0),
        ("found_seconds_bucket{le=\"+Inf\"}", 1.0),
        ("found_seconds_sum", 0.25),
        ("found_seconds_count", 1.0),
        ("fetched_seconds_bucket{le=\"0.25\"}", 0.0),
        ("fetched_seconds_bucket{le=\"0.5\"}", 1.0),
        ("fetched_seconds_sum", 0.251),
        ("deliveries_total", 1.0),
        ("rejections_total{status=\"422\"}", 2.0),
        ("faults_total{fault=\"html-502\"}", 1.0),
        ("webhooks{state=\"refused\"}", 1.0),
    ] {
        let found = series.get(format!("imagekiln_simulator_{key}").as_str());
        assert_eq!(found, Some(&value), "{key} in\n{text}");
    }
}
