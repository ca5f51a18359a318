//! Every fault, in every place where it may strike, asked for in every way.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use axum::http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use imagekiln_simulator::{Config, FaultPlace, Faults};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::bench::Bench;
use super::raw::Raw;

const JSON: &str = "200 application/json";

/// A fault, what comes of it, and how many tasks there are after it.
const SUBMISSION: [(&str, &str, u64); 12] = [
    ("error-before", "500 application/json", 0),
    ("error-before=503", "503 application/json", 0),
    ("error-after", "500 application/json", 1),
    ("error-after=599", "599 application/json", 1),
    ("html-502", "502 text/html; charset=utf-8", 0),
    ("rate-limited=7", "429 application/json", 0),
    ("reset", "reset", 0),
    ("reset=after", "reset", 1),
    ("reply-lost", "closed", 1),
    ("foreign-polling-host=127.0.0.3:9", JSON, 1),
    ("slow-headers=20", JSON, 1),
    ("slow-body=20", JSON, 1),
];

/// A fault, what comes of it, and the status that is told.
const POLL: [(&str, &str, Option<&str>); 9] = [
    ("error-before", "500 application/json", None),
    ("error-before=504", "504 application/json", None),
    ("html-502", "502 text/html; charset=utf-8", None),
    ("rate-limited=3", "429 application/json", None),
    ("reset", "reset", None),
    ("slow-headers=20", JSON, Some("Ready")),
    ("slow-body=20", JSON, Some("Ready")),
    ("unknown-status", JSON, Some("Warming the kiln")),
    ("spurious-not-found", JSON, Some("Task not found")),
];

/// A fault, and what comes of it.
const DELIVERY: [(&str, &str); 13] = [
    ("error-before", "500 application/json"),
    ("error-before=503", "503 application/json"),
    ("html-502", "502 text/html; charset=utf-8"),
    ("rate-limited=3", "429 application/json"),
    ("reset", "200 image/jpeg, reset"),
    ("slow-headers=20", "200 image/jpeg"),
    ("slow-body=20", "200 image/jpeg"),
    ("truncated", "200 image/jpeg, closed"),
    ("empty", "200 image/jpeg"),
    ("html", "200 text/html; charset=utf-8"),
    ("wrong-kind", "200 image/jpeg"),
    ("wrong-kind=text", "200 image/jpeg"),
    ("early-expiry", "403 application/json"),
];

/// How a fault is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Word,
    /// With the submission.
    Header,
    /// With the poll or the delivery itself.
    OwnHeader,
    Rule,
}

/// A submission that asks for a fault in one of the ways.
struct Asking<'a> {
    bench: &'a Bench,
    fault: String,
    way: Way,
}

impl<'a> Asking<'a> {
    fn new(bench: &'a Bench, place: &str, fault: &str, way: Way) -> Self {
        let (name, value) =
            fault.split_once('=').map_or((fault, ""), |(name, value)| (name, value));
        let value = if value.is_empty() { String::new() } else { format!("={value}") };
        let fault = format!("{name}@{place}{value}");
        if way == Way::Rule {
            let rule = bench.sim.faults().add(&format!("{fault}:once")).unwrap();
            assert_eq!((rule.struck, rule.left), (0, Some(1)));
        }
        Self { bench, fault, way }
    }

    fn headers(&self, asking: bool) -> Vec<(&str, &str)> {
        let mut headers =
            vec![("x-key", self.bench.sim.api_key()), ("content-type", "application/json")];
        if asking {
            headers.push(("x-simulator-fault", &self.fault));
        }
        headers
    }

    async fn submit(&self) -> Raw {
        let word =
            if self.way == Way::Word { format!("[[{}]]", self.fault) } else { String::new() };
        let prompt = format!("a fox {word} {:?} {}", self.way, self.fault.replace(['[', ']'], ""));
        let body = json!({ "prompt": prompt, "width": 64, "height": 64 }).to_string();
        let url = format!("{}/v1/gen-2-pro", self.bench.sim.base_url());
        Raw::send("POST", &url, &self.headers(self.way == Way::Header), &body).await
    }

    /// A poll or a fetch; only the first asks for the fault itself.
    async fn get(&self, url: &str, first: bool) -> Raw {
        Raw::send("GET", url, &self.headers(first && self.way == Way::OwnHeader), "").await
    }

    /// A task that is ready, and what its polling address is.
    async fn finished(&self) -> String {
        let task = self.submit().await.json();
        self.bench.sim.clock().advance(Duration::from_secs(1));
        task["polling_url"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_submission_is_struck_once_and_then_gets_through() {
    let bench = Bench::new().await;
    let mut expected = 0;
    for (fault, summary, accepted) in SUBMISSION {
        for way in [Way::Word, Way::Header, Way::Rule] {
            let asking = Asking::new(&bench, "submission", fault, way);
            let before = Instant::now();
            let struck = asking.submit().await;
            assert_eq!(struck.summary(), summary, "{fault} {way:?}");
            expected += accepted;
            assert_eq!(bench.sim.counts().accepted, expected, "{fault} {way:?}");
            let waited = if fault.starts_with("slow") { 20 } else { 0 };
            assert_eq!(before.elapsed().as_secs(), waited, "{fault} {way:?}");
            if summary.contains("application/json") && summary != JSON {
                assert!(struck.json()["detail"].is_string());
            }
            match fault {
                "rate-limited=7" => assert_eq!(struck.header("retry-after"), Some("7")),
                "foreign-polling-host=127.0.0.3:9" => {
                    let url = struck.json()["polling_url"].as_str().unwrap().to_owned();
                    assert!(url.starts_with("http://127.0.0.3:9/v1/get_result?id="), "{url}");
                }
                _ => {}
            }

            let through = asking.submit().await;
            assert_eq!(through.summary(), JSON, "{fault} {way:?}");
            expected += 1;
            let url = through.json()["polling_url"].as_str().unwrap().to_owned();
            assert!(url.starts_with(bench.sim.base_url()), "{url}");
        }
    }
    // Nothing was charged that is not there, nothing is there that was not charged, and all of it
    // becomes ready.
    bench.sim.clock().advance(Duration::from_secs(1));
    let (counts, tasks) = (bench.sim.counts(), bench.sim.tasks());
    assert_eq!((counts.accepted, counts.ready, tasks.len() as u64), (expected, expected, expected));
    assert_eq!(counts.charged, tasks.iter().map(|task| task.cost).sum());
    assert_eq!(counts.struck.values().sum::<u64>(), SUBMISSION.len() as u64 * 3);
    assert_eq!((counts.struck["reset"], counts.struck["reply-lost"]), (6, 3));
    assert!(counts.refused.is_empty(), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_poll_is_struck_once_and_the_task_is_fine() {
    let bench = Bench::new().await;
    for (fault, summary, status) in POLL {
        for way in [Way::Word, Way::Header, Way::OwnHeader, Way::Rule] {
            let asking = Asking::new(&bench, "poll", fault, way);
            let url = asking.finished().await;
            let before = Instant::now();
            let struck = asking.get(&url, true).await;
            assert_eq!(struck.summary(), summary, "{fault} {way:?}");
            if let Some(status) = status {
                assert_eq!(struck.json()["status"], status);
                assert_eq!(struck.json().get("result").is_some(), status == "Ready");
            }
            assert_eq!(before.elapsed().as_secs(), if fault.starts_with("slow") { 20 } else { 0 });
            let polled = asking.get(&url, false).await;
            assert_eq!(
                (polled.summary().as_str(), &polled.json()["status"]),
                (JSON, &json!("Ready"))
            );
            let view = bench.sim.tasks().pop().unwrap();
            assert_eq!(
                view.polls,
                1 + u64::from(status.is_some()),
                "only answers with a status are counted"
            );
        }
    }
    let counts = bench.sim.counts();
    assert_eq!((counts.accepted, counts.ready), (36, 36));
    assert_eq!(counts.struck.values().sum::<u64>(), 36);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_is_struck_once_and_the_picture_is_fine() {
    let bench = Bench::new().await;
    for (fault, summary) in DELIVERY {
        for way in [Way::Word, Way::Header, Way::OwnHeader, Way::Rule] {
            let asking = Asking::new(&bench, "delivery", fault, way);
            let polled = asking.get(&asking.finished().await, false).await.json();
            let sample = polled["result"]["sample"].as_str().unwrap();
            // Who asks for the head alone spends nothing.
            assert_eq!(
                Raw::send("HEAD", sample, &[], "").await.header("content-type"),
                Some("image/jpeg")
            );
            let delivered = bench.sim.counts().delivered;
            let before = Instant::now();
            let struck = asking.get(sample, true).await;
            assert_eq!(struck.summary(), summary, "{fault} {way:?}");
            let slow = fault.starts_with("slow");
            assert_eq!(before.elapsed().as_secs(), if slow { 20 } else { 0 });
            assert_eq!(bench.sim.counts().delivered, delivered + u64::from(slow), "{fault}");
            let fine = asking.get(sample, false).await;
            assert_eq!(fine.summary(), "200 image/jpeg");
            assert!(fine.body.starts_with(&[0xff, 0xd8, 0xff]));
            assert_eq!(bench.sim.counts().delivered, delivered + u64::from(slow) + 1);
            match fault {
                "reset" | "truncated" => assert_eq!(struck.body, fine.body[..fine.body.len() / 2]),
                "slow-headers=20" | "slow-body=20" => assert_eq!(struck.body, fine.body),
                "empty" => assert!(struck.body.is_empty()),
                "wrong-kind" => assert!(struck.body.starts_with(b"\x89PNG")),
                "wrong-kind=text" => assert!(struck.body.starts_with(b"This is no picture")),
                "html" | "html-502" => assert!(struck.body.starts_with(b"<!DOCTYPE html>")),
                "early-expiry" => {
                    assert_eq!(
                        struck.json(),
                        json!({ "detail": "The delivery address has expired" })
                    );
                }
                _ => assert!(struck.json()["detail"].is_string()),
            }
        }
    }
    assert_eq!(bench.sim.counts().struck.values().sum::<u64>(), DELIVERY.len() as u64 * 4);
}

#[tokio::test]
async fn the_tables_leave_no_fault_out_and_none_strikes_elsewhere() {
    let bench = Bench::new().await;
    let names = |faults: &[&'static str]| -> BTreeSet<_> {
        faults.iter().map(|fault| fault.split('=').next().unwrap()).collect()
    };
    for (place, tested) in [
        (FaultPlace::Submission, names(&SUBMISSION.map(|row| row.0))),
        (FaultPlace::Poll, names(&POLL.map(|row| row.0))),
        (FaultPlace::Delivery, names(&DELIVERY.map(|row| row.0))),
    ] {
        let known = Faults::known().iter().filter(|known| known.places.contains(&place));
        assert_eq!(known.map(|known| known.name).collect::<BTreeSet<_>>(), tested, "{place}");
    }
    for known in Faults::known() {
        for place in
            [FaultPlace::Submission, FaultPlace::Poll, FaultPlace::Delivery, FaultPlace::Webhook]
        {
            let added = bench.sim.faults().add(&format!("{}@{place}", known.name));
            assert_eq!(added.is_ok(), known.places.contains(&place), "{} {place}", known.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_is_one_whose_head_comes_at_once() {
    // However long it takes: the client waits, and is not waited for.
    let bench =
        Bench::with(Config { client_timeout: Duration::from_secs(10), ..Config::default() }).await;
    let headers = [("x-key", bench.sim.api_key()), ("x-simulator-fault", "slow-body=3600")];
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    let stream = Raw::start("GET", &url, &headers, "").await;
    let before = Instant::now();
    let mut head = [0; 4096];
    let length = loop {
        stream.readable().await.unwrap();
        match stream.try_read(&mut head) {
            Ok(length) => break length,
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    };
    let head = String::from_utf8(head[..length].to_vec()).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(before.elapsed(), Duration::ZERO);
    let mut body = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut { stream }, &mut body).await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["status"], "Task not found");
    assert_eq!(before.elapsed().as_secs(), 3600);
}

#[tokio::test]
async fn slowness_follows_the_clock_of_the_simulator() {
    let bench = Bench::new().await;
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    for fault in ["slow-headers=86400", "slow-body=86400"] {
        let headers = [("x-key", bench.sim.api_key()), ("x-simulator-fault", fault)];
        let mut answer = pin!(Raw::send("GET", &url, &headers, ""));
        let clock = bench.sim.clock();
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                () = tokio::task::yield_now() => clock.advance(Duration::from_secs(3600)),
            }
        };
        assert_eq!(answer.summary(), JSON);
    }
}

#[tokio::test]
async fn connections_of_http2_are_reset_too() {
    let bench = Bench::new().await;
    let task =
        bench.submit("/v1/gen-2-pro", &json!({ "prompt": "x", "width": 64, "height": 64 })).await;
    let sample = bench.sample(&task).await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http::<Empty<axum::body::Bytes>>();
    let get = async |url: &str, fault: &str| {
        let request = Request::get(url).header("x-key", bench.sim.api_key());
        let request = request.header("x-simulator-fault", fault).body(Empty::new()).unwrap();
        client.request(request).await
    };
    let url = task["polling_url"].as_str().unwrap();
    assert!(get(url, "slow-body=0").await.unwrap().into_body().collect().await.is_ok());
    assert!(get(url, "reset").await.is_err());
    for fault in ["reset", "truncated"] {
        // The end may come before the head was read.
        if let Ok(answer) = get(&sample, fault).await {
            assert!(answer.into_body().collect().await.is_err(), "{fault}");
        }
    }
    assert!(get(&sample, "slow-body=0").await.unwrap().into_body().collect().await.is_ok());
}
