//! Violations of the contract, and their responses.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::bench::{Bench, png};

/// Submits each body, and compares its violations.
async fn assert_violations<const N: usize>(cases: [(&str, Value, &str); N]) {
    let bench = Bench::new().await;
    for (operation, body, expected) in cases {
        bench.assert_violations(operation, &body, expected).await;
    }
    assert_eq!(bench.sim.counts().accepted, 0);
}

#[tokio::test]
async fn each_invalid_field_has_its_location_and_type() {
    assert_violations([
        ("gen-2-pro", json!({}), "body.prompt missing"),
        ("gen-2-pro", json!([]), "body model_attributes_type"),
        ("gen-2-pro", json!(null), "body model_attributes_type"),
        ("gen-2-pro", json!({ "prompt": 7 }), "body.prompt string_type"),
        ("gen-2-pro", json!({ "prompt": null }), "body.prompt string_type"),
        (
            "gen-2-pro",
            json!({
                "prompt": "x",
                "width": 63,
                "height": 0,
                "seed": "7",
                "disable_pup": 1,
                "safety_tolerance": 6,
                "output_format": "gif",
            }),
            concat!(
                "body.disable_pup bool_type, ",
                "body.height greater_than_equal, ",
                "body.output_format enum, ",
                "body.safety_tolerance less_than_equal, ",
                "body.seed int_parsing, ",
                "body.width greater_than_equal",
            ),
        ),
        ("gen-2-pro", json!({ "prompt": "x", "seed": 1.5 }), "body.seed int_from_float"),
        ("gen-2-pro", json!({ "prompt": "x", "seed": [] }), "body.seed int_type"),
        ("gen-2-pro", json!({ "prompt": "x", "output_format": 1 }), "body.output_format enum"),
        (
            "gen-2-pro",
            json!({ "prompt": "x", "webhook_url": "nowhere", "webhook_secret": 1 }),
            "body.webhook_secret string_type, body.webhook_url url_parsing",
        ),
        (
            "gen-2-pro",
            json!({
                "prompt": "x",
                "webhook_url": format!("https://example.com/{}", "x".repeat(2083)),
            }),
            "body.webhook_url string_too_long",
        ),
        ("gen-2-flex", json!({ "prompt": "x", "guidance": "5" }), "body.guidance float_parsing"),
        (
            "gen-2-flex",
            json!({ "prompt": "x", "guidance": 1.4, "steps": 0 }),
            "body.guidance greater_than_equal, body.steps greater_than_equal",
        ),
        ("gen-dev", json!({ "width": 300 }), "body.width multiple_of"),
        ("gen-tools/outpainting-v1", json!({ "mode": "slow" }), "body.mode enum"),
        ("gen-kontext-pro", json!({ "aspect_ratio": "22:9" }), "body.aspect_ratio value_error"),
        ("gen-kontext-pro", json!({ "aspect_ratio": "16x9" }), "body.aspect_ratio value_error"),
    ])
    .await;
}

#[tokio::test]
async fn violations_are_worded_as_pydantic_does() {
    let bench = Bench::new().await;
    let body = json!({ "width": 33, "steps": "2", "output_format": "gif", "seed": 7.5 });
    let response = bench.post("/v1/gen-dev", &body).await.json();
    let mut messages: Vec<_> = response["detail"].as_array().unwrap().iter().collect();
    messages
        .sort_by_key(|violation| (violation["loc"][1].to_string(), violation["type"].to_string()));
    let messages: Vec<_> = messages.iter().map(|violation| violation["msg"].as_str()).collect();
    let expected = [
        "Input should be 'jpeg', 'png' or 'webp'",
        "Input should be a valid integer, got a number with a fractional part",
        "Input should be a valid integer, unable to parse string as an integer",
        "Input should be greater than or equal to 256",
        "Input should be a multiple of 32",
    ];
    assert_eq!(messages, expected.map(Some));
}

#[tokio::test]
async fn seeds_are_integers_of_64_bits() {
    let bench = Bench::new().await;
    let too_small = "Input should be greater than or equal to -9223372036854775808";
    let too_large = "Input should be less than or equal to 9223372036854775807";
    for (seed, msg) in [
        ("9223372036854775807", None),
        ("-9223372036854775808", None),
        ("-7.0", None),
        ("9223372036854775808", Some(too_large)),
        ("1000000000000000000000000000000", Some(too_large)),
        ("1e19", Some(too_large)),
        ("-9223372036854775809", Some(too_small)),
        ("-1e30", Some(too_small)),
    ] {
        for (path, required) in [("gen-2-pro", r#""prompt": "x", "#), ("gen-tools/vto-v1", "")] {
            let charged = bench.sim.counts().charged;
            let body = format!(r#"{{ {required}"seed": {seed} }}"#);
            let response = bench.post_bytes(&format!("/v1/{path}"), body).await;
            let Some(msg) = msg else {
                assert_eq!(response.status, 200, "{path} {seed}: {response:?}");
                continue;
            };
            assert_eq!(response.status, 422, "{path} {seed}");
            let detail = &response.json()["detail"];
            assert_eq!(detail[0]["loc"], json!(["body", "seed"]));
            assert_eq!((&detail[0]["msg"], &detail[1]), (&json!(msg), &Value::Null), "{seed}");
            assert_eq!(bench.sim.counts().charged, charged);
        }
    }
}

#[tokio::test]
async fn each_invalid_image_has_its_location_and_type() {
    let square = png(64, 64);
    let truncated = &square[..square.len() / 8 * 4];
    assert_violations([
        ("gen-dev", json!({ "image_prompt": "%%%" }), "body.image_prompt value_error"),
        ("gen-dev", json!({ "image_prompt": "" }), "body.image_prompt value_error"),
        (
            "gen-dev",
            json!({ "image_prompt": STANDARD.encode("base64, but not an image") }),
            "body.image_prompt value_error",
        ),
        (
            "gen-dev",
            json!({ "image_prompt": "https://example.com/a.png" }),
            "body.image_prompt value_error",
        ),
        ("gen-dev", json!({ "image_prompt": truncated }), "body.image_prompt value_error"),
        (
            "gen-pro-1.0-fill",
            json!({ "image": square, "mask": png(64, 63) }),
            "body.mask value_error",
        ),
        ("gen-tools/deblur-v1", json!({}), "body.image missing"),
        (
            "gen-tools/deblur-v1",
            json!({ "image": announcing(2049, 2048) }),
            "body.image value_error",
        ),
        (
            "gen-pro-1.0-fill-finetuned",
            json!({ "finetune_strength": 2.1 }),
            concat!(
                "body.finetune_id missing, ",
                "body.finetune_strength less_than_equal, ",
                "body.image missing",
            ),
        ),
        (
            "gen-pro-1.0-fill",
            json!({ "image": "%", "mask": "%", "steps": 14 }),
            "body.image value_error, body.mask value_error, body.steps greater_than_equal",
        ),
        (
            "gen-tools/vto-v1",
            json!({ "people": [{ "photo": truncated }] }),
            "body.people.0.photo value_error",
        ),
    ])
    .await;
}

#[tokio::test]
async fn invalid_json_is_reported_with_its_position() {
    let bench = Bench::new().await;
    for (body, place, kind) in [
        (&b""[..], json!(["body"]), "missing"),
        (b"{", json!(["body", 0]), "json_invalid"),
        (b"{\"prompt\": x}", json!(["body", 11]), "json_invalid"),
        (b"{\"prompt\":\n\n  'x'}", json!(["body", 14]), "json_invalid"),
        (b"{\"prompt\": \"\xff\"}", json!(["body", 12]), "json_invalid"),
    ] {
        let response = bench.post_bytes("/v1/gen-2-pro", body).await;
        assert_eq!(response.status, 422);
        let violation = &response.json()["detail"][0];
        assert_eq!((&violation["type"], &violation["loc"]), (&json!(kind), &place), "{body:?}");
    }
    let deep = "[".repeat(10_000);
    let deep = bench.post_bytes("/v1/gen-2-pro", deep).await.violations();
    assert!(deep[0].ends_with("json_invalid"), "{deep:?}");
}

#[tokio::test]
async fn violations_do_not_quote_values() {
    let bench = Bench::new().await;
    let body = json!({
        "prompt": 1,
        "webhook_secret": ["hidden-secret"],
        "input_image": "hidden-image",
        "output_format": "hidden-format",
    });
    let response = bench.post("/v1/gen-2-pro", &body).await;
    assert_eq!(response.violations().len(), 4);
    assert!(!response.json().to_string().contains("hidden"), "{response:?}");
}

/// A valid png header with these dimensions, without any data.
fn announcing(width: u32, height: u32) -> String {
    let mut head = STANDARD.decode(png(8, 8)).unwrap();
    head[16..20].copy_from_slice(&width.to_be_bytes());
    head[20..24].copy_from_slice(&height.to_be_bytes());
    let crc = crc32(&head[12..29]);
    head[29..33].copy_from_slice(&crc.to_be_bytes());
    STANDARD.encode(head)
}

pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

#[tokio::test]
async fn urls_are_named_as_such_where_only_base64_is_accepted() {
    let bench = Bench::new().await;
    for (path, field, url, problem) in [
        ("gen-dev", "image_prompt", "https://example.com/a.png", "base64 data, not a URL"),
        ("gen-dev", "image_prompt", "s3://images/a.png", "base64 data, not a URL"),
        ("gen-dev", "image_prompt", "data:image/png;base64,:", "not valid base64"),
        ("gen-kontext-pro", "input_image", "s3://images/a.png", "neither http nor https"),
    ] {
        let body = json!({ "prompt": "x", field: url });
        let response = bench.post(&format!("/v1/{path}"), &body).await.json();
        let message = response["detail"][0]["msg"].as_str().unwrap();
        assert!(message.contains(problem), "{url}: {message}");
    }
}
