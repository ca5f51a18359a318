//! Fields that the contract does not list for an operation.

use axum::http::StatusCode;
use serde_json::json;

use super::bench::{Bench, png};

#[tokio::test]
async fn reference_images_above_the_limit_are_refused() {
    let bench = Bench::new().await;
    for (path, limit) in [
        ("gen-2-pro", 8),
        ("gen-2-flex", 8),
        ("gen-2-klein-9b", 4),
        ("gen-2-klein-4b", 4),
        ("gen-kontext-pro", 4),
        ("gen-2-klein-9b-kv-finetuned", 4),
    ] {
        let over = format!("input_image_{}", limit + 1);
        let body = json!({ "prompt": "a fox", &over: png(8, 8), "input_image_99": null });
        bench.assert_violations(path, &body, &format!("body.{over} extra_forbidden")).await;
    }
    assert_eq!(bench.sim.counts().accepted, 0);
    // These are not numbered, so they are unknown fields.
    for name in ["input_images", "input_image_+5", "input_image_", "input_image5"] {
        bench.submit("/v1/gen-kontext-pro", &json!({ "prompt": "a fox", name: 1 })).await;
    }
}

#[tokio::test]
async fn fields_that_an_operation_does_not_accept_are_refused() {
    let bench = Bench::new().await;
    let body = json!({ "image": png(8, 8), "prompt": "a fox", "mask": png(8, 8) });
    let expected = "body.mask extra_forbidden, body.prompt extra_forbidden";
    bench.assert_violations("gen-tools/deblur-v1", &body, expected).await;
    bench.submit("/v1/gen-tools/deblur-v1", &json!({ "image": png(8, 8), "mask": null })).await;
}

#[tokio::test]
async fn fields_that_an_operation_does_not_have_have_no_effect() {
    let bench = Bench::new().await;
    for (path, listed, unlisted, names) in [
        (
            "gen-kontext-pro",
            json!({ "prompt": "a fox", "seed": 7 }),
            json!({ "image": png(64, 64), "width": 99 }),
            "image, width",
        ),
        (
            "gen-pro-1.1",
            json!({ "prompt": "a fox", "seed": 7, "width": 256, "height": 256 }),
            json!({ "input_image": "not an image", "aspect_ratio": "1:9", "x\r\ny": "gore",
                format!("x{}", "é".repeat(100)): 1 }),
            &format!("aspect_ratio, input_image, x{}, x??y", "?".repeat(63)),
        ),
    ] {
        let mut both = listed.clone();
        both.as_object_mut().unwrap().extend(unlisted.as_object().unwrap().clone());
        let path = format!("/v1/{path}");
        let response = bench.post(&path, &both).await;
        assert_eq!(response.status, StatusCode::OK);
        assert_eq!(response.headers["x-simulator-ignored-fields"], names);
        let (plain, task) = (bench.submit(&path, &listed).await, response.json());
        for field in ["cost", "input_mp", "output_mp"] {
            assert_eq!(task[field], plain[field], "{field}");
        }
        let view = bench.view(&task);
        assert_eq!(view.ignored_fields.join(", "), names);
        assert_eq!(view.request["prompt"], "a fox");
        assert!(view.request.get(names.split(", ").next().unwrap()).is_some());
        let pictures = (bench.sample(&task).await, bench.sample(&plain).await);
        let pictures = (bench.fetch(&pictures.0).await, bench.fetch(&pictures.1).await);
        assert!(pictures.0.body == pictures.1.body, "{path}: the same picture");
    }
}

#[tokio::test]
async fn fields_of_an_operation_whose_list_is_open_have_an_effect() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "a fox", "garment": png(32, 32) });
    let response = bench.post("/v1/gen-tools/vto-v1", &body).await;
    assert_eq!(response.headers.get("x-simulator-ignored-fields"), None);
    assert!(response.json()["input_mp"].is_number());
}
