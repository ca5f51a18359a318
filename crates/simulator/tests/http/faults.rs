//! Every fault at every place, requested in every way.

use std::{collections::BTreeSet, time::Duration};

use serde_json::json;
use tokio::time::Instant;

use super::{
    bench::{Bench, small},
    raw::Raw,
};
use imagekiln_simulator::{FaultPlace, Faults};

pub const JSON: &str = "200 application/json";

/// A fault, the response, and the number of tasks afterwards.
const SUBMISSION: [(&str, &str, u64); 15] = [
    ("outage=0..86400", "500 application/json", 0),
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
    ("idle-close=20", JSON, 1),
    ("clock-skew=-60", JSON, 1),
];

/// A fault, the response, and its status.
const POLL: [(&str, &str, Option<&str>); 14] = [
    ("outage=0..86400", "500 application/json", None),
    ("error-before", "500 application/json", None),
    ("error-before=504", "504 application/json", None),
    ("html-502", "502 text/html; charset=utf-8", None),
    ("rate-limited=3", "429 application/json", None),
    ("reset", "reset", None),
    ("slow-headers=20", JSON, Some("Ready")),
    ("slow-body=20", JSON, Some("Ready")),
    ("unknown-status", JSON, Some("Warming the kiln")),
    ("idle-close=20", JSON, Some("Ready")),
    ("clock-skew=60", JSON, Some("Ready")),
    ("spurious-not-found", JSON, Some("Task not found")),
    ("spurious-forbidden", "403 application/json", None),
    ("stale-status", JSON, Some("Pending")),
];

/// A fault, and the response.
const DELIVERY: [(&str, &str); 18] = [
    ("outage=0..86400", "500 application/json"),
    ("error-before", "500 application/json"),
    ("error-before=503", "503 application/json"),
    ("html-502", "502 text/html; charset=utf-8"),
    ("rate-limited=3", "429 application/json"),
    ("reset", "200 image/jpeg, reset"),
    ("slow-headers=20", "200 image/jpeg"),
    ("slow-body=20", "200 image/jpeg"),
    ("idle-close=20", "200 image/jpeg"),
    ("clock-skew", "200 image/jpeg"),
    ("truncated", "200 image/jpeg, closed"),
    ("damaged", "200 image/jpeg"),
    ("empty", "200 image/jpeg"),
    ("html", "200 text/html; charset=utf-8"),
    ("wrong-kind", "200 image/jpeg"),
    ("wrong-kind=text", "200 image/jpeg"),
    ("wrong-size", "200 image/jpeg"),
    ("early-expiry", "403 application/json"),
];

/// How a fault is requested.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Word,
    /// With the submission.
    Header,
    /// With the poll or the delivery itself.
    OwnHeader,
    Rule,
}

/// A submission that requests a fault in one of the ways.
struct FaultRequest<'a> {
    bench: &'a Bench,
    fault: String,
    way: Way,
}

impl<'a> FaultRequest<'a> {
    fn new(bench: &'a Bench, place: &str, fault: &str, way: Way) -> Self {
        let (name, value) =
            fault.split_once('=').map_or((fault, ""), |(name, value)| (name, value));
        let value = if value.is_empty() { String::new() } else { format!("={value}") };
        let fault = format!("{name}@{place}{value}");
        if way == Way::Rule {
            let rule = bench.sim.faults().add(&format!("{fault}:once")).unwrap();
            assert_eq!((rule.applied, rule.left), (0, Some(1)));
        }
        Self { bench, fault, way }
    }

    fn headers(&self, with_fault: bool) -> Vec<(&str, &str)> {
        let mut headers =
            vec![("x-key", self.bench.sim.api_key()), ("content-type", "application/json")];
        if with_fault {
            headers.push(("x-simulator-fault", &self.fault));
        }
        headers
    }

    async fn submit(&self) -> Raw {
        let word =
            if self.way == Way::Word { format!("[[{}]]", self.fault) } else { String::new() };
        let prompt = format!("a fox {word} {:?} {}", self.way, self.fault.replace(['[', ']'], ""));
        let body = small(&prompt).to_string();
        let url = format!("{}/v1/gen-2-pro", self.bench.sim.base_url());
        Raw::send("POST", &url, &self.headers(self.way == Way::Header), &body).await
    }

    /// A poll or a fetch. Only the first one requests the fault itself.
    async fn get(&self, url: &str, first: bool) -> Raw {
        Raw::send("GET", url, &self.headers(first && self.way == Way::OwnHeader), "").await
    }

    /// Submits a task, waits until it is ready, and returns its polling URL.
    async fn finished(&self) -> String {
        let task = self.submit().await.json();
        self.bench.sim.clock().advance(Duration::from_secs(1));
        task["polling_url"].as_str().unwrap().to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_a_submission_applies_once() {
    let bench = Bench::new().await;
    let mut expected = 0;
    for (fault, summary, accepted) in SUBMISSION {
        for way in [Way::Word, Way::Header, Way::Rule] {
            let request = FaultRequest::new(&bench, "submission", fault, way);
            let before = Instant::now();
            let faulty = request.submit().await;
            assert_eq!(faulty.summary(), summary, "{fault} {way:?}");
            expected += accepted;
            assert_eq!(bench.sim.counts().accepted, expected, "{fault} {way:?}");
            let waited = if fault.starts_with("slow") { 20 } else { 0 };
            assert_eq!(before.elapsed().as_secs(), waited, "{fault} {way:?}");
            if summary.contains("application/json") && summary != JSON {
                assert!(faulty.json()["detail"].is_string());
            }
            match fault {
                "rate-limited=7" => assert_eq!(faulty.header("retry-after"), Some("7")),
                "foreign-polling-host=127.0.0.3:9" => {
                    let url = faulty.json()["polling_url"].as_str().unwrap().to_owned();
                    assert!(url.starts_with("http://127.0.0.3:9/v1/get_result?id="), "{url}");
                }
                _ => {}
            }

            let through = request.submit().await;
            assert_eq!(through.summary(), JSON, "{fault} {way:?}");
            expected += 1;
            let url = through.json()["polling_url"].as_str().unwrap().to_owned();
            assert!(url.starts_with(bench.sim.base_url()), "{url}");
        }
    }
    // Every charge has a task, every task was charged, and all of them become ready.
    bench.sim.clock().advance(Duration::from_secs(1));
    let (counts, tasks) = (bench.sim.counts(), bench.sim.tasks());
    assert_eq!((counts.accepted, counts.ready, tasks.len() as u64), (expected, expected, expected));
    assert_eq!(counts.charged, tasks.iter().map(|task| task.cost).sum());
    assert_eq!(counts.faults.values().sum::<u64>(), SUBMISSION.len() as u64 * 3);
    assert_eq!((counts.faults["reset"], counts.faults["reply-lost"]), (6, 3));
    assert!(counts.refused.is_empty(), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_a_poll_applies_once() {
    let bench = Bench::new().await;
    for (fault, summary, status) in POLL {
        for way in [Way::Word, Way::Header, Way::OwnHeader, Way::Rule] {
            let request = FaultRequest::new(&bench, "poll", fault, way);
            let url = request.finished().await;
            let before = Instant::now();
            let faulty = request.get(&url, true).await;
            assert_eq!(faulty.summary(), summary, "{fault} {way:?}");
            if let Some(status) = status {
                assert_eq!(faulty.json()["status"], status);
                assert_eq!(faulty.json().get("result").is_some(), status == "Ready");
            }
            assert_eq!(before.elapsed().as_secs(), if fault.starts_with("slow") { 20 } else { 0 });
            let polled = request.get(&url, false).await;
            assert_eq!(
                (polled.summary().as_str(), &polled.json()["status"]),
                (JSON, &json!("Ready"))
            );
            let view = bench.sim.tasks().pop().unwrap();
            assert_eq!(
                view.polls,
                1 + u64::from(status.is_some()),
                "only responses with a status are counted"
            );
        }
    }
    let counts = bench.sim.counts();
    let tasks = POLL.len() as u64 * 4;
    assert_eq!((counts.accepted, counts.ready), (tasks, tasks));
    assert_eq!(counts.faults.values().sum::<u64>(), tasks);
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_a_delivery_applies_once() {
    let bench = Bench::new().await;
    for (fault, summary) in DELIVERY {
        for way in [Way::Word, Way::Header, Way::OwnHeader, Way::Rule] {
            let request = FaultRequest::new(&bench, "delivery", fault, way);
            let polled = request.get(&request.finished().await, false).await.json();
            let sample = polled["result"]["sample"].as_str().unwrap();
            // A HEAD request does not use up a fault.
            assert_eq!(
                Raw::send("HEAD", sample, &[], "").await.header("content-type"),
                Some("image/jpeg")
            );
            let delivered = bench.sim.counts().delivered;
            let before = Instant::now();
            let faulty = request.get(sample, true).await;
            assert_eq!(faulty.summary(), summary, "{fault} {way:?}");
            let slow = fault.starts_with("slow");
            assert_eq!(before.elapsed().as_secs(), if slow { 20 } else { 0 });
            let is_delivered = slow || ["idle-close=20", "clock-skew"].contains(&fault);
            assert_eq!(bench.sim.counts().delivered, delivered + u64::from(is_delivered));
            let fine = request.get(sample, false).await;
            assert_eq!(fine.summary(), "200 image/jpeg");
            assert!(fine.body.starts_with(&[0xff, 0xd8, 0xff]));
            assert_eq!(bench.sim.counts().delivered, delivered + u64::from(is_delivered) + 1);
            match fault {
                "reset" | "truncated" | "damaged" => {
                    assert_eq!(faulty.body, fine.body[..fine.body.len() / 2])
                }
                "slow-headers=20" | "slow-body=20" | "idle-close=20" | "clock-skew" => {
                    assert_eq!(faulty.body, fine.body);
                }
                "empty" => assert!(faulty.body.is_empty()),
                "wrong-kind" => assert!(faulty.body.starts_with(b"\x89PNG")),
                "wrong-size" => {
                    let picture = image::load_from_memory(&faulty.body).unwrap();
                    assert_eq!((picture.width(), picture.height()), (64, 80));
                }
                "wrong-kind=text" => {
                    assert!(faulty.body.starts_with(b"This text is a simulated fault"))
                }
                "html" | "html-502" => assert!(faulty.body.starts_with(b"<!DOCTYPE html>")),
                "early-expiry" => {
                    assert_eq!(faulty.json(), json!({ "detail": "The delivery URL has expired" }));
                }
                _ => assert!(faulty.json()["detail"].is_string()),
            }
        }
    }
    assert_eq!(bench.sim.counts().faults.values().sum::<u64>(), DELIVERY.len() as u64 * 4);
}

#[tokio::test]
async fn the_tables_list_every_fault_and_place() {
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

#[tokio::test]
async fn rules_are_checked() {
    let bench = Bench::new().await;
    let problem = |rule: &str| bench.sim.faults().add(rule).err().map(|error| error.problem);
    for known in Faults::known() {
        assert_eq!(problem(known.name), None, "{} without a value", known.name);
        assert!(problem(&format!("{}=/no value/", known.name)).is_some(), "{}", known.name);
    }
    for valid in [
        "error-before=500",
        "error-after=599",
        "rate-limited=0",
        "slow-headers=0.25",
        "foreign-polling-host=example.invalid",
        "foreign-polling-host=[::1]:80",
        "reset=after",
        "wrong-kind=text",
        "outage=0.5..1",
        "idle-close=0.5",
    ] {
        assert_eq!(problem(valid), None, "{valid}");
    }
    for (invalid, part) in [
        ("", "unknown fault"),
        ("error", "unknown fault"),
        ("html-502@home", "unknown place"),
        ("html-502@webhook", "does not apply there"),
        ("reset@poll=after", "does not apply there"),
        ("html-502:sometimes", "expected `once`"),
        ("html-502:0x", "expected `once`"),
        ("html-502:1", "expected `once`"),
        ("html-502:1.5", "expected `once`"),
        ("html-502=1", "does not take a value"),
        ("html=text", "does not take a value"),
        ("error-before=503:often", "expected a status code"),
        ("error-before=499", "expected a status code"),
        ("error-before=600", "expected a status code"),
        ("outage=10", "expected two times"),
        ("outage=10..", "expected times of a year"),
        ("outage=0..31536001", "expected times of a year"),
        ("outage=10..10", "ends before it begins"),
        ("rate-limited=1.5", "expected whole seconds"),
        ("rate-limited=86401", "expected whole seconds"),
        ("slow-body=-1", "expected a time"),
        ("slow-body=nan", "expected a time"),
        ("slow-body=1e300", "expected a time"),
        ("foreign-polling-host=example.invalid/path", "expected a host"),
        ("foreign-polling-host=key@example.invalid", "expected a host"),
        ("foreign-polling-host=http://example.invalid", "expected a host"),
        ("foreign-polling-host=", "expected a host"),
    ] {
        assert!(problem(invalid).is_some_and(|text| text.contains(part)), "{invalid}");
    }
    // A value may contain colons.
    let left = |rule: &str| bench.sim.faults().add(rule).unwrap().left;
    assert_eq!(left("foreign-polling-host=127.0.0.3:80"), None);
    assert_eq!(left("foreign-polling-host=127.0.0.3:80:3x"), Some(3));
    let error = |rule: &str| bench.sim.faults().add(rule).unwrap_err();
    assert!(error(&"x".repeat(1000)).to_string().len() < 200);
    assert_eq!(error("\u{1b}[2J\u{7f}error").text, "?[2J?error");
}
