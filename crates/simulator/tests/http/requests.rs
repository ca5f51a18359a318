//! The journal of requests.

use std::panic::AssertUnwindSafe;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use imagekiln_simulator::{Config, Expectation, RequestRecord, Simulator};

use super::{
    bench::{Bench, png},
    raw::{Raw, open},
};

const KEY: &str = "a-key-of-the-journal-1234";

async fn bench() -> Bench {
    Bench::with(Config { api_keys: vec![KEY.into()], ..Config::default() }).await
}

/// The only request.
fn only(sim: &Simulator) -> RequestRecord {
    let [request] = sim.requests().try_into().unwrap();
    request
}

async fn count(bench: &Bench, pattern: Value) -> u64 {
    let found = bench.change("POST", "/api/requests/verify", pattern.clone()).await;
    found["count"].as_u64().unwrap_or_else(|| panic!("{pattern}: {found}"))
}

#[tokio::test]
async fn a_task_leaves_its_submission_its_polls_and_its_delivery() {
    let bench = bench().await;
    let task = bench.submit("/v1/gen-2-pro", &json!({ "prompt": "a fox", "seed": 7 })).await;
    let sample = bench.sample(&task).await;
    bench.fetch(&sample).await;
    let [submission, poll, delivery] = bench.sim.requests().try_into().unwrap();
    for request in [&submission, &poll, &delivery] {
        assert_eq!(request.task_id.as_deref(), task["id"].as_str());
        assert_eq!((request.status, request.region.to_string()), (Some(200), "global".to_owned()));
    }
    assert_eq!((submission.method.as_str(), submission.path.as_str()), ("POST", "/v1/gen-2-pro"));
    assert_eq!(submission.operation.as_deref(), Some("gen-2-pro"));
    assert_eq!(submission.organization.as_deref(), Some("default"));
    assert_eq!(submission.project.as_deref(), Some("default"));
    assert_eq!(submission.key.as_deref(), Some("…1234"));
    assert_eq!(submission.request(), Some(json!({ "prompt": "a fox", "seed": 7 })));
    assert_eq!(poll.operation.as_deref(), Some("get_result"));
    assert_eq!((delivery.operation, delivery.key), (None, None));
    assert_eq!([submission.number, poll.number, delivery.number], [1, 2, 3]);
}

#[tokio::test]
async fn responses_are_kept_without_signatures() {
    let bench = bench().await;
    let task = bench.submit("/v1/gen-2-pro", &json!({ "prompt": "a fox" })).await;
    let sample = bench.sample(&task).await;
    bench.fetch(&sample).await;
    let refusal = bench.post("/v1/gen-2-pro", &json!({ "width": 3 })).await;
    let other = bench.submit("/v1/gen-2-pro", &json!({ "prompt": "[[html-502@poll]]" })).await;
    bench.get(other["polling_url"].as_str().unwrap()).await;
    let kept: Vec<_> = bench.sim.requests().iter().map(RequestRecord::response).collect();
    let [submission, poll, delivery, refused, _, page] = kept.try_into().unwrap();
    assert_eq!(submission, Some(task));
    let poll = poll.unwrap();
    let (url, signature) = sample.split_once("signature=").unwrap();
    assert_eq!(poll["status"], "Ready");
    assert_eq!(poll["result"]["sample"], format!("{url}signature=[redacted]"));
    assert_eq!(delivery, None, "a picture");
    assert_eq!(refused, Some(refusal.json()));
    assert!(page.unwrap().as_str().unwrap().starts_with("<!DOCTYPE html>"));
    let shown = bench.show("/api/requests").await;
    for shown in [shown.to_string(), format!("{:?}", bench.sim.requests())] {
        assert!(shown.contains("signature=[redacted]") && !shown.contains(signature), "{shown}");
    }
    assert_eq!(shown["requests"][4]["response"], poll);
}

#[tokio::test]
async fn refused_requests_are_kept_with_the_reason() {
    let bench = bench().await;
    let body = json!({ "width": 3, "input_image": png(8, 8), "webhook_secret": "s3cret" });
    assert_eq!(bench.post("/v1/gen-2-pro", &body).await.status, 422);
    let request = only(&bench.sim);
    let violations = request.violations.iter();
    let found: Vec<_> = violations.map(|one| (one.location.as_str(), one.kind.as_str())).collect();
    assert_eq!(found, [("body.prompt", "missing"), ("body.width", "greater_than_equal")]);
    let kept = request.request().unwrap();
    assert!(kept["input_image"].as_str().unwrap().starts_with("[an image, "), "{kept}");
    assert_eq!(kept["webhook_secret"], "[redacted]");

    let body = json!({
        "webhook_secret": ["s3cret"],
        "input_image": ["https://user:word@images.example/a.png?signature=1", png(8, 8)],
    });
    assert_eq!(bench.post("/v1/gen-2-pro", &body).await.status, 422);
    let kept = bench.sim.requests()[1].request().unwrap();
    assert_eq!(kept["webhook_secret"], "[redacted]");
    assert_eq!(kept["input_image"][0], "https://images.example/a.png");
    assert!(kept["input_image"][1].as_str().unwrap().starts_with("[an image, "), "{kept}");

    bench.post_as("another-key-that-is-wrong", "/v1/gen-2-pro", &json!({ "prompt": "x" })).await;
    bench.fetch(&format!("{}/v1/nothing%0d", bench.sim.base_url())).await;
    let [_, _, wrong_key, wrong_path] = bench.sim.requests().try_into().unwrap();
    assert_eq!((wrong_key.status, wrong_key.key.as_deref()), (Some(403), Some("…rong")));
    assert_eq!(wrong_key.detail.as_deref(), Some("Not authenticated: the key in x-key is unknown"));
    assert_eq!((wrong_path.status, wrong_path.operation), (Some(404), None));
    assert_eq!(wrong_path.path, "/v1/nothing%0d");
}

#[tokio::test]
async fn requests_without_a_response_are_kept() {
    let bench = bench().await;
    let url = format!("{}/v1/gen-2-pro", bench.sim.base_url());
    let headers = [("x-key", KEY), ("content-type", "application/json")];
    Raw::send("POST", &url, &headers, r#"{"prompt":"a fox [[reply-lost]]"}"#).await;
    let cut = only(&bench.sim);
    assert_eq!((cut.status, cut.faults.as_slice()), (None, ["reply-lost"].as_slice()));
    assert_eq!(cut.response(), None);
    assert!(cut.task_id.is_some());

    let declared = [headers[0], headers[1], ("transfer-encoding", "chunked")];
    let mut stream = Raw::start("POST", &url, &declared, "").await;
    stream.shutdown().await.unwrap();
    Raw::read(stream).await;
    let [_, abandoned] = bench.sim.requests().try_into().unwrap();
    assert_eq!((abandoned.task_id, abandoned.path.as_str()), (None, "/v1/gen-2-pro"));
}

#[tokio::test]
async fn requests_that_are_not_http_are_kept() {
    let bench = bench().await;
    let stream = open(bench.sim.base_url(), "nonsense\r\n\r\n").await;
    assert!(Raw::read(stream).await.summary().starts_with("400"));
    let record = only(&bench.sim);
    assert_eq!((record.status, record.path.as_str()), (Some(400), ""));
    assert_eq!(record.detail.as_deref(), Some("The request is not valid HTTP"));
}

#[tokio::test]
async fn programs_count_requests_by_a_pattern() {
    let bench = bench().await;
    let extra = json!({ "url": "x", "list": [1, 2] });
    let fox = json!({ "prompt": "a fox", "seed": 7, "extra": extra });
    bench.submit("/v1/gen-2-pro", &fox).await;
    bench.submit("/v1/gen-2-pro", &json!({ "prompt": "a hare [[html-502@poll]]" })).await;
    let task = bench.submit("/v1/gen-kontext-pro", &json!({ "prompt": "x", "image": "y" })).await;
    bench.poll(&task).await;
    bench.post("/v1/gen-2-flex", &json!({ "seed": "seven" })).await;
    for (pattern, expected) in [
        (json!({}), 5),
        (json!({ "operation": "gen-2-*" }), 3),
        (json!({ "operation": "gen-2-pro", "request": { "seed": 7 } }), 1),
        (json!({ "request": { "seed": 8 } }), 0),
        (json!({ "request": { "seed": 7.0, "extra": { "list": [1, 2] } } }), 1),
        (json!({ "request": { "extra": { "list": [1] } } }), 0),
        (json!({ "request": { "width": null } }), 0),
        (json!({ "request": {} }), 4),
        (json!({ "status": "4xx" }), 1),
        (json!({ "status": "422" }), 1),
        (json!({ "status": 422 }), 1),
        (json!({ "status": "5xx" }), 0),
        (json!({ "status": 200, "method": "post" }), 3),
        (json!({ "violation": "body.prompt" }), 1),
        (json!({ "ignored_field": "image" }), 1),
        (json!({ "task_id": task["id"] }), 2),
        (json!({ "key": "1234", "project": "default", "region": "global" }), 5),
        (json!({ "key": "4321" }), 0),
        (json!({ "path": "/v1/get_result" }), 1),
        (json!({ "before": 3 }), 2),
    ] {
        assert_eq!(count(&bench, pattern.clone()).await, expected, "{pattern}");
    }
    let path = "/api/requests?operation=gen-2-*&status=200&limit=1";
    let found = bench.show(path).await;
    assert_eq!((&found["count"], &found["dropped"]), (&json!(2), &json!(0)));
    let [newest] = found["requests"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!((&newest["number"], &newest["region"]), (&json!(2), &json!("global")));
    assert_eq!(newest["request"]["prompt"], "a hare [[html-502@poll]]");
    let none = bench.show("/api/requests?limit=0").await;
    assert_eq!((&none["count"], &none["requests"]), (&json!(5), &json!([])));
    for wrong in [json!({ "statuss": 200 }), json!({ "limit": -1 })] {
        let response = bench.control("POST", "/api/requests/verify", Some(wrong)).await;
        assert_eq!(response.status, 422, "{response:?}");
    }
    for wrong in [json!("xx"), json!("9xx"), json!("ok"), json!(-1)] {
        let wrong = json!({ "status": wrong });
        let response = bench.control("POST", "/api/requests/verify", Some(wrong)).await;
        assert_eq!(response.status, 422, "{response:?}");
    }
    let response = bench.control("GET", "/api/requests?request=x", None).await;
    assert_eq!(response.status, 400);
}

#[tokio::test]
async fn the_number_of_requests_in_a_response_is_limited() {
    let bench = bench().await;
    for _ in 0..=1000 {
        bench.fetch(bench.sim.base_url()).await;
    }
    for (limit, shown) in [("", 100), ("?limit=5", 5), ("?limit=18446744073709551615", 1000)] {
        let found = bench.show(&format!("/api/requests{limit}")).await;
        let requests = found["requests"].as_array().unwrap().len();
        assert_eq!((found["count"].as_u64(), requests), (Some(1001), shown), "{limit}");
    }
}

#[tokio::test]
async fn the_oldest_requests_are_dropped() {
    let bench = Bench::with(Config { max_kept_requests: 2, ..Config::default() }).await;
    for path in ["/a", "/b", "/c"] {
        bench.fetch(&format!("{}{path}", bench.sim.base_url())).await;
    }
    let paths: Vec<_> = bench.sim.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/b", "/c"]);
    let found = bench.show("/api/requests").await;
    assert_eq!((&found["count"], &found["dropped"]), (&json!(2), &json!(1)));
}

/// Drops an expectation, and returns the message of its panic.
fn failure(expectation: Expectation) -> String {
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(move || drop(expectation)));
    *dropped.expect_err("the expectation holds").downcast::<String>().unwrap()
}

#[tokio::test]
async fn expectations_hold_if_the_number_of_requests_is_right() {
    let bench = bench().await;
    let expect = |pattern| bench.sim.expect(pattern);
    bench.post("/v1/gen-2-pro", &json!({})).await;
    let _one = expect("POST gen-2-pro").times(1);
    let _none = expect("get_result").times(0);
    let _any = expect("/v1/gen-2-*?status=200&project=default");
    let _fox = expect("").request(json!({ "prompt": "a fox" })).at_least(1);
    bench.submit("/v1/gen-2-pro", &json!({ "prompt": "a fox", "seed": 7 })).await;
    let _later = expect("GET").times(1);
    drop(expect("").times(0));
    bench.fetch(&format!("{}/v1/nothing", bench.sim.base_url())).await;
}

#[tokio::test]
async fn expectations_that_fail_show_the_nearest_requests() {
    let bench = bench().await;
    let one = bench.sim.expect("POST gen-2-pro?status=200").request(json!({ "seed": 7 })).times(1);
    let two = bench.sim.expect("POST gen-2-pro").times(2);
    bench.fetch(&format!("{}/v1/nothing", bench.sim.base_url())).await;
    bench.post("/v1/gen-2-pro", &json!({ "seed": 7 })).await;
    bench.submit("/v1/gen-2-pro", &json!({ "prompt": "x", "seed": 8 })).await;
    drop(two);
    let failure_of_one = failure(one);
    let lines: Vec<_> = failure_of_one.lines().collect();
    let expected = [
        "expected 1 request `POST gen-2-pro?status=200`, but there were 0",
        "  2: POST /v1/gen-2-pro, 422 (body.prompt: Field required): another status",
        "  3: POST /v1/gen-2-pro, 200: another request (`seed` is 8)",
        "  1: GET /v1/nothing, 404 (Not Found): another method, operation, status, request \
         (no body)",
    ];
    assert!(lines[0].contains("requests.rs:") && lines[0].ends_with(expected[0]), "{lines:?}");
    assert_eq!(lines[1..], expected[1..]);

    let one = bench.sim.expect("").times(1);
    for _ in 0..2 {
        bench.fetch(&format!("{}/v1/nothing", bench.sim.base_url())).await;
    }
    let too_many = failure(one);
    assert!(too_many.contains("there were 2\n  4: GET /v1/nothing, 404"), "{too_many}");
    for (pattern, problem) in [
        ("GET", "expected at least 1 request `GET`, but there were 0"),
        ("?statuss=200", "invalid pattern `?statuss=200`"),
        ("POST GET", "both `POST` and `GET`"),
    ] {
        let failure = failure(bench.sim.expect(pattern));
        assert!(failure.contains(problem), "{failure}");
    }
    // A test that fails already does not abort.
    let failed = bench.sim.expect("GET");
    let failed = std::panic::catch_unwind(AssertUnwindSafe(move || {
        let _expectation = failed;
        panic!("first");
    }));
    assert_eq!(failed.unwrap_err().downcast_ref::<&str>(), Some(&"first"));
}

#[tokio::test]
async fn supervisors_leave_no_trace() {
    let bench = bench().await;
    bench.fetch(&format!("{}/healthz", bench.sim.base_url())).await;
    assert!(bench.sim.requests().is_empty());
}
