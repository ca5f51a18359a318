//! With `strict`, requests need what the interface describes, and have no other fields.

use image::RgbaImage;
use serde_json::{Value, json};

use super::bench::{Bench, base64, png};
use imagekiln_simulator::Config;

async fn strict() -> Bench {
    Bench::with(Config { strict: true, ..Config::default() }).await
}

#[tokio::test]
async fn strict_requests_need_what_the_interface_describes() {
    let (strict, lenient) = (strict().await, Bench::new().await);
    let (image, finetune_id) = (png(64, 64), "fox-style");
    let garments = json!({ "person": image, "garments": ["https://example.com/shirt.png"] });
    for (operation, body, missing, needed) in [
        ("gen-2-klein-4b", json!({}), "body.prompt missing", json!({ "prompt": "" })),
        (
            "gen-kontext-pro",
            json!({ "input_image": image }),
            "body.prompt missing",
            json!({ "prompt": "x" }),
        ),
        ("gen-dev", json!({ "seed": 7 }), "body.prompt missing", json!({ "image_prompt": image })),
        ("gen-pro-1.1", json!({}), "body.prompt missing", json!({ "prompt": "x" })),
        (
            "gen-2-klein-9b-kv-finetuned",
            json!({ "prompt": "x" }),
            "body.finetune_id missing",
            json!({ "prompt": "x", "finetune_id": finetune_id }),
        ),
        (
            "gen-pro-1.0-fill",
            json!({ "mask": image }),
            "body.image missing",
            json!({ "image": image, "mask": image }),
        ),
        (
            "gen-pro-1.0-expand",
            json!({ "top": 8 }),
            "body.image missing",
            json!({ "image": image }),
        ),
        (
            "gen-tools/erase-v1",
            json!({ "image": image }),
            "body.mask missing",
            json!({ "image": image, "mask": image }),
        ),
        ("gen-tools/vto-v1", json!({ "person": image }), "body value_error", garments.clone()),
        ("gen-tools/vto-v2", json!({}), "body value_error", garments),
        (
            "gen-tools/outpainting-v1",
            json!({ "width": 64, "webhook_url": "http://127.0.0.1:9/" }),
            "body value_error",
            json!({ "picture": image }),
        ),
        ("gen-pro-1.0-canny", json!({}), "body value_error", json!({ "control": image })),
        (
            "gen-pro-finetuned",
            json!({}),
            "body.finetune_id missing",
            json!({ "finetune_id": finetune_id }),
        ),
        ("gen-3-video", json!({}), "body.mode missing", json!({ "mode": "t2v" })),
    ] {
        let path = format!("/v1/{operation}");
        lenient.submit(&path, &body).await;
        strict.assert_violations(operation, &body, missing).await;
        strict.submit(&path, &needed).await;
    }
}

#[tokio::test]
async fn a_strict_mask_has_the_size_of_its_image() {
    let (strict, lenient) = (strict().await, Bench::new().await);
    let body = json!({ "image": png(64, 64), "mask": png(32, 64) });
    lenient.submit("/v1/gen-tools/erase-v1", &body).await;
    let refused = ["body.mask value_error"];
    assert_eq!(strict.post("/v1/gen-tools/erase-v1", &body).await.violations(), refused);
    for bench in [strict, lenient] {
        assert_eq!(bench.post("/v1/gen-pro-1.0-fill", &body).await.violations(), refused);
    }
}

#[tokio::test]
async fn an_alpha_channel_replaces_the_mask() {
    let bench = strict().await;
    let (global, regional) = (bench.sim.base_url(), bench.sim.regional_base_url());
    let transparent = base64(RgbaImage::new(64, 64));
    for (base, path, mut body) in [
        (global, "/v1/gen-pro-1.0-fill", json!({})),
        (regional, "/v1/gen-pro-1.0-fill-finetuned", json!({ "finetune_id": "fox-style" })),
    ] {
        body["image"] = png(64, 64).into();
        let found = bench.post_at(base, path, body.to_string()).await.violations();
        assert_eq!(found, ["body.mask missing"]);
        body["image"] = transparent.clone().into();
        let accepted = bench.post_at(base, path, body.to_string()).await;
        assert_eq!(accepted.status, 200, "{accepted:?}");
    }
}

#[tokio::test]
async fn strict_base_urls_have_their_own_operations() {
    let (strict, lenient) = (strict().await, Bench::new().await);
    let body = json!({ "prompt": "x", "finetune_id": "fox-style" }).to_string();
    for (bench, elsewhere) in [(&strict, 404), (&lenient, 200)] {
        let (global, regional) = (bench.sim.base_url(), bench.sim.regional_base_url());
        for (base, path, status) in [
            (global, "/v1/gen-2-pro", 200),
            (regional, "/v1/gen-2-pro", elsewhere),
            (global, "/v1/gen-pro-1.1-ultra-finetuned", elsewhere),
            (regional, "/v1/gen-pro-1.1-ultra-finetuned", 200),
        ] {
            // An operation without `finetune_id` has no field of this name.
            let body = if path.ends_with("finetuned") { &body } else { r#"{"prompt":"x"}"# };
            let response = bench.post_at(base, path, body.to_owned()).await;
            assert_eq!(response.status, status, "{base}{path} {response:?}");
        }
        let document = bench.show("/api/openapi.json").await;
        let servers = &document["paths"]["/v1/gen-pro-1.1-ultra-finetuned"]["post"]["servers"];
        let urls: Vec<_> = servers.as_array().unwrap().iter().map(|one| &one["url"]).collect();
        let both = [regional, global];
        assert_eq!(urls, if elsewhere == 404 { &both[..1] } else { &both[..] });
    }
}

#[tokio::test]
async fn strict_requests_have_no_unknown_fields() {
    let bench = strict().await;
    let body = json!({
        "prompt": "x", "seed": 7,
        "aspectRatio": 1, "aspectratio": "16:9", "promt": 1, "sede": 1, "width": 64, "x\ny": 1,
    });
    let response = bench.post("/v1/gen-kontext-pro", &body).await;
    let expected = ["aspectRatio", "aspectratio", "promt", "sede", "width", "x?y"]
        .map(|name| format!("body.{name} extra_forbidden"));
    assert_eq!(response.violations(), expected);
    let messages: Vec<Value> = response.json()["detail"]
        .as_array()
        .unwrap()
        .iter()
        .map(|violation| violation["msg"].clone())
        .collect();
    let permitted = "Extra inputs are not permitted";
    let meant = ["aspect_ratio", "aspect_ratio", "prompt", "seed"]
        .map(|name| format!("{permitted}: did you mean `{name}`?"));
    assert_eq!(messages[..4], meant);
    assert_eq!(messages[4..], [permitted, permitted]);
    // Here the contract does not list all fields.
    bench.submit("/v1/gen-pro-1.0", &json!({ "prompt": "x", "aspectratio": "16:9" })).await;
    assert_eq!(bench.sim.counts().accepted, 1);
}
