//! Large requests do not delay small ones, and pictures are rendered once.

use futures_util::future::join_all;
use image::RgbImage;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::{
    bench::{Bench, Sender, base64},
    trace::Trace,
};
use imagekiln_testbed::picture;

/// The side of an image of 16 megapixels.
const SIDE: u32 = 4096;

#[tokio::test]
async fn small_submissions_do_not_wait_for_large_images() {
    let bench = Bench::new().await;
    let row = picture::gradient(SIDE, 1).into_raw();
    let image = RgbImage::from_raw(SIDE, SIDE, row.repeat(SIDE as usize)).unwrap();
    let image = Value::from(base64(image));
    let mut body: Map<String, Value> =
        (2..=8).map(|number| (format!("input_image_{number}"), image.clone())).collect();
    body.insert("input_image".to_owned(), image);
    body.insert("prompt".to_owned(), "x".into());
    let body = Value::from(body).to_string();
    let mut large = JoinSet::new();
    // More than there are workers.
    let count = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    for _ in 0..count {
        let (body, key) = (body.clone(), bench.sim.api_key().to_owned());
        let url = format!("{}/v1/gen-2-flex", bench.sim.base_url());
        large.spawn(async move {
            let headers = [("x-key", key.as_str()), ("content-type", "application/json")];
            Sender::new().send("POST", &url, &headers, body).await
        });
    }
    for _ in 0..20 {
        bench.submit("/v1/gen-2-flex", &json!({ "prompt": "x" })).await;
        assert!(large.try_join_next().is_none(), "a small submission waited for a large one");
    }
    for response in large.join_all().await {
        assert_eq!(response.status, 200, "{response:?}");
    }
}

#[tokio::test]
async fn a_picture_that_several_clients_fetch_at_once_is_rendered_once() {
    let trace = Trace::start();
    let bench = Bench::new().await;
    let task = bench.submit("/v1/gen-2-pro", &json!({ "prompt": "x" })).await;
    let sample = bench.sample(&task).await;
    let responses = join_all((0..8).map(|_| bench.fetch(&sample))).await;
    let first = &responses[0].body;
    assert!(first.len() > 1000 && responses.iter().all(|response| response.body == first));
    let started = format!("a job starts key=\"0/{}\"", task["id"].as_str().unwrap());
    assert_eq!(trace.lines().matches(&started).count(), 1, "{}", trace.lines());
}
