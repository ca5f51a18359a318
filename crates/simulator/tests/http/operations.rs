//! Every operation of the contract, from the submission to the picture.

use std::time::Duration;

use axum::http::header;
use serde_json::{Value, json};

use super::{
    bench::{Bench, png},
    contract::{Submission, submissions},
};
use imagekiln_simulator::{Config, Credits, TaskView, WebhookSettings};

/// Runs a submission until it is `Ready`. Returns the delivery URL and the simulator's view of the
/// task.
async fn run(bench: &Bench, submission: &Submission, body: &Value) -> (String, TaskView) {
    let before = bench.sim.counts();
    let base =
        if submission.regional { bench.sim.regional_base_url() } else { bench.sim.base_url() };
    let response = bench.post_at(base, &submission.path, body.to_string()).await;
    assert_eq!(response.status, 200, "{}: {response:?}", submission.path);
    let task = response.json();
    assert!(task["cost"].is_number() && task["output_mp"].is_number(), "{task}");
    assert!(task["polling_url"].as_str().unwrap().starts_with(base), "{task}");

    let poll = bench.poll(&task).await;
    assert_eq!(poll, json!({ "id": task["id"], "status": "Pending" }));
    let sample = bench.sample(&task).await;
    assert!(sample.starts_with(base), "{sample}");

    let view = bench.view(&task);
    assert_eq!(view.operation_id, submission.operation_id);
    assert_eq!((view.status.as_str(), view.polls, view.deliveries), ("Ready", 2, 0));
    let after = bench.sim.counts();
    assert_eq!(after.accepted, before.accepted + 1);
    assert_eq!(after.charged, before.charged + view.cost);
    assert_eq!(after.ready, before.ready + 1);
    assert_eq!(after.polls, before.polls + 2);
    assert_eq!(after.delivered, before.delivered);
    (sample, view)
}

#[tokio::test]
async fn every_operation_accepts_its_minimal_request() {
    let bench = Bench::new().await;
    for submission in submissions() {
        let mut body = submission.minimal();
        if submission.is_video {
            // A video of a second is painted soonest.
            body["duration"] = json!(1);
        }
        let (_, view) = run(&bench, &submission, &body).await;
        let expected = if submission.is_video {
            "video/webm".to_owned()
        } else {
            format!("image/{}", submission.default_format())
        };
        assert_eq!(view.media_type, expected);
    }
}

#[tokio::test]
async fn every_operation_delivers_the_picture_of_its_full_request() {
    let bench = Bench::new().await;
    let mut delivered = 0;
    for submission in submissions().into_iter().filter(|submission| !submission.is_video) {
        let mut body = submission.full();
        let format = match body.get("output_format") {
            Some(format) => format.as_str().unwrap().to_owned(),
            None => submission.default_format(),
        };
        if body == json!({}) {
            body = json!({ "width": 80, "height": 72 });
        }
        let (sample, view) = run(&bench, &submission, &body).await;
        let response = bench.fetch(&sample).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.headers[header::CONTENT_TYPE], format!("image/{format}"));
        assert_eq!(response.headers[header::CONTENT_LENGTH], response.body.len().to_string());
        let expected = image::ImageFormat::from_mime_type(format!("image/{format}")).unwrap();
        assert_eq!(image::guess_format(&response.body).unwrap(), expected);
        let picture = image::load_from_memory_with_format(&response.body, expected).unwrap();
        assert_eq!((picture.width(), picture.height()), (view.width, view.height));
        if let (Some(width), Some(height)) = (body["width"].as_u64(), body["height"].as_u64()) {
            assert_eq!((u64::from(view.width), u64::from(view.height)), (width, height));
        }
        assert_eq!(bench.sim.task(&view.id).unwrap().deliveries, 1);
        delivered += 1;
    }
    assert_eq!(bench.sim.counts().delivered, delivered);
}

#[tokio::test]
async fn nullable_fields_accept_null_and_others_do_not() {
    let bench = Bench::new().await;
    for submission in submissions() {
        let mut body = submission.minimal();
        let nullable = submission.properties().filter(|(_, schema)| schema["nullable"] == true);
        for (name, _) in nullable {
            body[name] = Value::Null;
        }
        let response = bench.post(&submission.path, &body).await;
        assert_eq!(response.status, 200, "{}: {response:?}", submission.path);
        for (name, schema) in
            submission.properties().filter(|(_, schema)| schema.get("type").is_some())
        {
            if schema["nullable"] != true {
                let mut body = body.clone();
                body[name] = Value::Null;
                let response = bench.post(&submission.path, &body).await;
                assert_eq!(response.status, 422, "{} with null for {name}", submission.path);
            }
        }
    }
}

#[tokio::test]
async fn every_operation_can_omit_the_polling_url_of_webhooks() {
    let webhooks = WebhookSettings { omit_polling_url: true, ..WebhookSettings::default() };
    let bench = Bench::with(Config { webhooks, ..Config::default() }).await;
    for submission in submissions() {
        let mut body = submission.minimal();
        let task = bench.submit(&submission.path, &body).await;
        assert!(task["polling_url"].is_string(), "{}: without a webhook", submission.path);
        body["webhook_url"] = "https://example.com/hook".into();
        body["webhook_secret"] = "a secret".into();
        let response = bench.submit(&submission.path, &body).await;
        assert_eq!(response["status"], "Pending", "{}", submission.path);
        assert_eq!(response["webhook_url"], "https://example.com/hook");
        assert_eq!(response.get("polling_url"), None);
        let id = response["id"].as_str().unwrap();
        let poll =
            bench.get(&format!("{}/v1/get_result?id={id}", bench.sim.base_url())).await.json();
        assert_eq!(poll["status"], "Pending");
    }
}

#[tokio::test]
async fn costs_and_megapixels_are_reported_and_charged_once() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "x", "width": 512, "height": 1024 });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    assert_eq!(task["cost"], 3.5);
    assert_eq!(task["output_mp"], 0.5);
    assert_eq!(task["input_mp"], 0.0);
    assert_eq!(bench.sim.counts().charged, Credits::from_hundredths(350));

    let body = json!({ "image": png(128, 128) });
    let task = bench.submit("/v1/gen-tools/deblur-v1", &body).await;
    assert_eq!((&task["input_mp"], &task["output_mp"]), (&json!(0.02), &json!(0.02)));
    let body = json!({ "image": "https://example.com/a.png" });
    let unknown = bench.submit("/v1/gen-tools/deblur-v1", &body).await;
    assert_eq!(unknown["input_mp"], Value::Null);

    // Rejections, polls and deliveries are not charged.
    let charged = bench.sim.counts().charged;
    assert_eq!(bench.post("/v1/gen-2-pro", &json!({})).await.status, 422);
    let sample = bench.sample(&task).await;
    bench.fetch(&sample).await;
    bench.fetch(&sample).await;
    let counts = bench.sim.counts();
    assert_eq!((counts.accepted, counts.charged, counts.delivered), (3, charged, 2));
}

#[tokio::test]
async fn the_model_prefix_can_be_changed() {
    let bench = Bench::with(Config {
        model_prefix: "xyz".to_owned(),
        ready_after: Duration::ZERO,
        ..Config::default()
    })
    .await;
    for submission in submissions() {
        let path = submission.path.replace("/v1/gen-", "/v1/xyz-");
        let task = bench.submit(&path, &submission.minimal()).await;
        assert_eq!(bench.poll(&task).await["status"], "Ready");
        let view = bench.view(&task);
        assert_eq!(view.operation_id, submission.operation_id);
        if path != submission.path {
            assert_eq!(bench.post(&submission.path, &submission.minimal()).await.status, 404);
        }
    }
    for wrong in ["/v1/xyzzy-2-pro", "/v1/xyz", "/v1/2-pro"] {
        assert_eq!(bench.post(wrong, &serde_json::json!({ "prompt": "x" })).await.status, 404);
    }
}

#[tokio::test]
async fn literal_paths_take_precedence_over_templates() {
    let bench = Bench::new().await;
    let body = serde_json::json!({ "prompt": "x", "finetune_id": "fox-style" });
    for (path, operation_id) in [
        ("/v1/gen-pro-finetuned", "gen_pro_finetuned"),
        ("/v1/gen-2-klein-4b-finetuned", "base_model_finetuned"),
        ("/v1/gen-2-klein-9b-kv-finetuned", "base_model_finetuned"),
    ] {
        let task = bench.submit(path, &body).await;
        let view = bench.view(&task);
        assert_eq!(view.operation_id, operation_id, "{path}");
    }
}
