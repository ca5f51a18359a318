//! Delivery URLs.

use std::time::Duration;

use axum::http::{Request, header};
use http_body_util::{BodyExt as _, Empty};
use serde_json::json;

use super::bench::{Bench, http2, png, small};
use imagekiln_simulator::Config;

#[tokio::test]
async fn a_url_is_valid_for_ten_minutes_after_the_task_is_ready() {
    let bench = Bench::new().await;
    let task = bench
        .submit(
            "/v1/gen-2-pro",
            &json!({ "prompt": "x", "width": 64, "height": 64, "input_image": png(20, 20) }),
        )
        .await;
    let ready = bench.view(&task).final_at;
    let sample = bench.sample(&task).await;
    assert_eq!(bench.fetch(&sample).await.status, 200);
    bench.sim.clock().advance_to(ready + Duration::from_secs(590));
    assert_eq!(bench.fetch(&sample).await.status, 200);
    assert_eq!(bench.sample(&task).await, sample, "polling does not extend it");
    bench.sim.clock().advance_to(ready + Duration::from_secs(601));
    let response = bench.fetch(&sample).await;
    assert_eq!(response.status, 403);
    assert_eq!(response.json(), json!({ "detail": "The delivery URL has expired" }));
    assert_eq!(bench.sim.counts().delivered, 2);
    // The next submission drops the expired task's images, which is not visible.
    bench.submit("/v1/gen-2-pro", &json!({ "prompt": "x" })).await;
    assert_eq!(bench.poll(&task).await["status"], "Ready");
}

#[tokio::test]
async fn a_modified_url_is_rejected() {
    let bench = Bench::new().await;
    let body = small("x");
    let (first, second) =
        (bench.submit("/v1/gen-2-pro", &body).await, bench.submit("/v1/gen-2-pro", &body).await);
    let (sample, other) = (bench.sample(&first).await, bench.sample(&second).await);
    let (address, query) = sample.split_once('?').unwrap();
    let (expires, signature) = query.split_once('&').unwrap();
    let flipped = match signature.strip_suffix('0') {
        Some(rest) => format!("{rest}1"),
        None => format!("{}0", &signature[..signature.len() - 1]),
    };
    let id = |task: &serde_json::Value| task["id"].as_str().unwrap().to_owned();
    for forged in [
        address.to_owned(),
        format!("{address}?{expires}"),
        format!("{address}?{signature}"),
        format!("{address}?{expires}&signature="),
        format!("{address}?{expires}&signature=zz"),
        format!("{address}?{expires}&{flipped}"),
        format!("{address}?{expires}0&{signature}"),
        format!("{}?{query}", address.replace(".jpeg", ".png")),
        format!("{address}?{}", other.split_once('?').unwrap().1),
        sample.replace(&id(&first), &id(&second)),
        sample.replace(&id(&first), "%2e%2e"),
    ] {
        let response = bench.fetch(&forged).await;
        assert_eq!(response.status, 403, "{forged}");
        assert!(response.json()["detail"].as_str().unwrap().contains("signature"), "{forged}");
    }
    assert_eq!(bench.fetch(&sample).await.status, 200);
    assert_eq!(bench.send("POST", &sample, &[], "").await.status, 405);
    assert_eq!(bench.sim.counts().delivered, 1);
}

#[tokio::test]
async fn a_picture_depends_only_on_model_prompt_and_seed() {
    let bench = Bench::with(Config { seed: Some(1.into()), ..Config::default() }).await;
    let elsewhere = Bench::with(Config { seed: Some(2.into()), ..Config::default() }).await;
    let body = |prompt: &str, seed: i64| {
        json!({
            "prompt": prompt,
            "seed": seed,
            "width": 128,
            "height": 96,
            "output_format": "png",
        })
    };
    let picture = bench.picture("/v1/gen-2-pro", &body("a fox", 7)).await;
    assert_eq!(picture, bench.picture("/v1/gen-2-pro", &body("a fox", 7)).await);
    assert_eq!(picture, elsewhere.picture("/v1/gen-2-pro", &body("a fox", 7)).await);
    assert_ne!(picture, bench.picture("/v1/gen-2-pro", &body("a fox", 8)).await);
    assert_ne!(picture, bench.picture("/v1/gen-2-pro", &body("a hen", 7)).await);
    assert_ne!(picture, bench.picture("/v1/gen-2-flex", &body("a fox", 7)).await);
    let mut edit = body("a fox", 7);
    edit["input_image"] = png(40, 40).into();
    assert_ne!(picture, bench.picture("/v1/gen-2-pro", &edit).await, "the reference is visible");
    let unseeded = json!({ "prompt": "a fox", "width": 128, "height": 96 });
    let first = bench.picture("/v1/gen-2-pro", &unseeded).await;
    assert_ne!(first, bench.picture("/v1/gen-2-pro", &unseeded).await, "each has its own seed");
}

#[tokio::test]
async fn a_head_request_has_the_headers_of_a_get_and_is_not_a_delivery() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "x", "width": 64, "height": 64, "output_format": "webp" });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    let sample = bench.sample(&task).await;
    let head = bench.send("HEAD", &sample, &[], "").await;
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
    assert_eq!(bench.sim.counts().delivered, 0);
    let whole = bench.fetch(&sample).await;
    for name in [header::CONTENT_LENGTH, header::CONTENT_TYPE] {
        assert_eq!(head.headers[&name], whole.headers[&name]);
    }
    assert_eq!(bench.sim.counts().delivered, 1);
}

#[tokio::test]
async fn a_range_of_a_picture_can_be_fetched_and_is_not_a_delivery() {
    let bench = Bench::new().await;
    let task = bench.submit("/v1/gen-2-pro", &small("x")).await;
    let sample = bench.sample(&task).await;
    let whole = bench.fetch(&sample).await;
    assert_eq!(
        (whole.status.as_u16(), &whole.headers[header::ACCEPT_RANGES]),
        (200, &"bytes".parse().unwrap())
    );
    let length = whole.body.len();
    for (range, status, content_range, body) in [
        ("bytes=10-19", 206, format!("bytes 10-19/{length}"), whole.body.slice(10..20)),
        (
            "bytes=-7",
            206,
            format!("bytes {}-{}/{length}", length - 7, length - 1),
            whole.body.slice(length - 7..),
        ),
        ("bytes=0-", 206, format!("bytes 0-{}/{length}", length - 1), whole.body.clone()),
        ("bytes=9-9", 206, format!("bytes 9-9/{length}"), whole.body.slice(9..10)),
        ("bytes=0-9999999", 206, format!("bytes 0-{}/{length}", length - 1), whole.body.clone()),
        ("bytes=-9999999", 206, format!("bytes 0-{}/{length}", length - 1), whole.body.clone()),
        ("bytes=9999999-", 416, format!("bytes */{length}"), Default::default()),
        ("bytes=9999999-9999999", 416, format!("bytes */{length}"), Default::default()),
        ("bytes=-0", 416, format!("bytes */{length}"), Default::default()),
        ("bytes=99999999999999999999999-", 416, format!("bytes */{length}"), Default::default()),
    ] {
        let part = bench.send("GET", &sample, &[("range", range)], "").await;
        assert_eq!(part.status.as_u16(), status, "{range}");
        assert_eq!(part.headers[header::CONTENT_RANGE], *content_range, "{range}");
        assert_eq!(part.body, body, "{range}");
    }
    assert_eq!(bench.send("HEAD", &sample, &[("range", "bytes=1-2")], "").await.status, 200);
    assert_eq!(
        bench.sim.counts().delivered,
        4,
        "the full response, and the ranges that were the whole file"
    );
    let conditional = [("range", "bytes=1-2"), ("if-range", "\"a\"")];
    assert_eq!(bench.send("GET", &sample, &conditional, "").await.status, 200);
    for other in ["bytes=5-3", "bytes=-", "bytes=0-1,4-5", "bytes=a-b", "bytes=+1-2", "lines=1-2"] {
        let response = bench.send("GET", &sample, &[("range", other)], "").await;
        assert_eq!(response.status, 200, "{other} is ignored");
    }
}

#[tokio::test]
async fn only_complete_deliveries_are_counted() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "x", "width": 192, "height": 192, "output_format": "png" });
    let sample = bench.sample(&bench.submit("/v1/gen-2-pro", &body).await).await;
    // The simulator can send only 64 bytes until the client reads them.
    let client = http2(64);
    let fetch = async || client.request(Request::get(&sample).body(Empty::new()).unwrap()).await;
    drop(fetch().await.unwrap());
    assert_eq!(bench.sim.counts().delivered, 0);
    fetch().await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(bench.sim.counts().delivered, 1);
    let before = fetch().await.unwrap();
    bench.sim.reset().unwrap();
    before.into_body().collect().await.unwrap();
    assert_eq!(bench.sim.counts().delivered, 0, "it belongs to the state before the reset");
}
