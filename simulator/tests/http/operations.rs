//! Every operation of the contract, from the submission to the picture.

use std::time::Duration;

use axum::http::{Method, header};
use imagekiln_simulator::{Config, Credits};
use serde_json::{Value, json};

use super::bench::{Answer, Bench, png};
use super::contract::{Submission, submissions};

/// From the submission to the decoded picture; gives its size.
async fn picture_of(bench: &Bench, submission: &Submission, body: &Value, format: &str) -> (u32, u32) {
    let before = bench.sim.counts();
    let base = match submission.regional {
        true => bench.sim.regional_base_url(),
        false => bench.sim.base_url(),
    };
    let key = ("x-key", bench.sim.api_key());
    let headers = [key, ("content-type", "application/json")];
    let url = format!("{base}{}", submission.path);
    let answer = bench.send(Method::POST, &url, &headers, body.to_string()).await;
    assert_eq!(answer.status, 200, "{}: {answer:?}", submission.path);
    let task = answer.json();
    assert!(task["cost"].is_number() && task["output_mp"].is_number(), "{task}");
    assert!(task["polling_url"].as_str().unwrap().starts_with(base), "{task}");

    let poll = bench.poll(&task).await;
    assert_eq!(poll["id"], task["id"]);
    assert_eq!(poll["status"], "Pending");
    assert_eq!(poll.get("result"), None);

    let Answer { status, headers, body } = bench.fetch(&bench.sample(&task).await).await;
    assert_eq!(status, 200);
    assert_eq!(headers[header::CONTENT_TYPE], format!("image/{format}"));
    assert_eq!(headers[header::CONTENT_LENGTH], body.len().to_string());
    let expected = image::ImageFormat::from_mime_type(format!("image/{format}")).unwrap();
    assert_eq!(image::guess_format(&body).unwrap(), expected);
    let picture = image::load_from_memory_with_format(&body, expected).unwrap();

    let view = bench.sim.task(task["id"].as_str().unwrap()).unwrap();
    assert_eq!(view.operation_id, submission.operation_id);
    assert_eq!((view.width, view.height), (picture.width(), picture.height()));
    assert_eq!((view.polls, view.deliveries), (2, 1));

    let after = bench.sim.counts();
    assert_eq!(after.accepted, before.accepted + 1);
    assert_eq!(after.charged, before.charged + view.cost);
    assert_eq!(after.ready, before.ready + 1);
    assert_eq!(after.delivered, before.delivered + 1);
    assert_eq!(after.polls, before.polls + 2);
    (picture.width(), picture.height())
}

#[tokio::test]
async fn every_operation_serves_its_minimal_request() {
    let bench = Bench::new().await;
    let submissions = submissions();
    assert_eq!(submissions.len(), 28, "29 operations, one of which is the poll");
    for submission in submissions {
        // A small picture where the fields leave its size open, so that the test is quick.
        let mut body = submission.minimal();
        let follows_image = body.get("image").is_some();
        if !follows_image && submission.properties().any(|(name, _)| name == "input_image") {
            body["input_image"] = png(80, 72).into();
        } else if !follows_image && submission.properties().next().is_none() {
            body["width"] = json!(80);
            body["height"] = json!(72);
        }
        picture_of(&bench, &submission, &body, &submission.default_format()).await;
    }
}

#[tokio::test]
async fn every_operation_serves_its_full_request() {
    let bench = Bench::new().await;
    for submission in submissions() {
        let body = submission.full();
        let format = match body.get("output_format") {
            Some(_) => "webp".to_owned(),
            None => submission.default_format(),
        };
        let size = picture_of(&bench, &submission, &body, &format).await;
        if let (Some(width), Some(height)) = (body["width"].as_u64(), body["height"].as_u64()) {
            assert_eq!((u64::from(size.0), u64::from(size.1)), (width, height), "{}", submission.path);
        }
    }
}

#[tokio::test]
async fn optional_fields_may_be_null_where_the_contract_says_so() {
    let bench = Bench::new().await;
    for submission in submissions() {
        let mut body = submission.minimal();
        let nullable = submission.properties().filter(|(_, schema)| schema["nullable"] == true);
        for (name, _) in nullable {
            body[name] = Value::Null;
        }
        let answer = bench.post(&submission.path, &body).await;
        assert_eq!(answer.status, 200, "{}: {answer:?}", submission.path);
        for (name, schema) in submission.properties().filter(|(_, schema)| schema.get("type").is_some()) {
            if schema["nullable"] != true {
                let mut body = body.clone();
                body[name] = Value::Null;
                let answer = bench.post(&submission.path, &body).await;
                assert_eq!(answer.status, 422, "{} with null for {name}", submission.path);
            }
        }
    }
}

#[tokio::test]
async fn a_webhook_is_answered_without_a_polling_address_where_the_contract_allows() {
    let bench = Bench::new().await;
    for submission in submissions() {
        let mut body = submission.minimal();
        body["webhook_url"] = "https://example.com/hook".into();
        body["webhook_secret"] = "a secret".into();
        let answer = bench.submit(&submission.path, &body).await;
        let id = answer["id"].as_str().unwrap();
        if ["gen_2_pro", "gen_2_pro_preview"].contains(&submission.operation_id.as_str()) {
            assert_eq!(answer["status"], "Pending");
            assert_eq!(answer["webhook_url"], "https://example.com/hook");
            assert_eq!(answer.get("polling_url"), None);
            let poll = bench.get(&format!("{}/v1/get_result?id={id}", bench.sim.base_url())).await.json();
            assert_eq!(poll["status"], "Pending");
        } else {
            assert!(answer["polling_url"].is_string(), "{}", submission.path);
            assert_eq!(answer.get("webhook_url"), None);
        }
    }
}

#[tokio::test]
async fn costs_and_megapixels_are_told_and_charged_once() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "x", "width": 512, "height": 1024 });
    let task = bench.submit("/v1/gen-2-pro", &body).await;
    assert_eq!(task["cost"], 3.5);
    assert_eq!(task["output_mp"], 0.5);
    assert_eq!(task["input_mp"], 0.0);
    assert_eq!(bench.sim.counts().charged, Credits::from_hundredths(350));

    let body = json!({ "image": png(512, 512) });
    let task = bench.submit("/v1/gen-tools/deblur-v1", &body).await;
    assert_eq!((&task["input_mp"], &task["output_mp"]), (&json!(0.25), &json!(0.25)));
    let body = json!({ "image": "https://example.com/a.png" });
    let task = bench.submit("/v1/gen-tools/deblur-v1", &body).await;
    assert_eq!(task["input_mp"], Value::Null);

    // Neither refusals nor polls nor deliveries are charged.
    let charged = bench.sim.counts().charged;
    assert_eq!(bench.post("/v1/gen-2-pro", &json!({})).await.status, 422);
    let sample = bench.sample(&task).await;
    bench.fetch(&sample).await;
    bench.fetch(&sample).await;
    let counts = bench.sim.counts();
    assert_eq!((counts.accepted, counts.charged, counts.delivered), (3, charged, 2));
}

#[tokio::test]
async fn another_prefix_stands_for_gen() {
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
        let view = bench.sim.task(task["id"].as_str().unwrap()).unwrap();
        assert_eq!(view.operation_id, submission.operation_id);
        if path != submission.path {
            assert_eq!(bench.post(&submission.path, &submission.minimal()).await.status, 404);
        }
    }
}
