//! The size of the picture for different requests.

use serde_json::{Value, json};

use super::bench::{Bench, png};

async fn size(bench: &Bench, path: &str, body: &Value) -> (u32, u32) {
    let task = bench.submit(path, body).await;
    let view = bench.view(&task);
    (view.width, view.height)
}

#[tokio::test]
async fn every_way_to_request_a_size() {
    let bench = Bench::new().await;
    let image = png(120, 90);
    for (path, body, expected) in [
        ("gen-2-pro", json!({ "prompt": "x" }), (1024, 1024)),
        ("gen-2-pro", json!({ "prompt": "x", "width": 640, "height": 480 }), (640, 480)),
        ("gen-2-pro", json!({ "prompt": "x", "width": 640.0 }), (640, 1024)),
        ("gen-2-pro", json!({ "prompt": "x", "width": null, "input_image": image }), (120, 90)),
        (
            "gen-2-pro",
            json!({ "prompt": "x", "input_image": "https://example.com/a.png" }),
            (1024, 1024),
        ),
        ("gen-dev", json!({ "width": 256, "height": 1440, "image_prompt": image }), (256, 1440)),
        ("gen-dev", json!({ "image_prompt": image }), (1024, 1024)),
        ("gen-pro-1.1-ultra", json!({}), (1360, 768)),
        ("gen-pro-1.1-ultra", json!({ "aspect_ratio": "9:21" }), (672, 1568)),
        ("gen-kontext-pro", json!({ "input_image": image }), (1024, 1024)),
        ("gen-kontext-pro", json!({ "aspect_ratio": "1:1" }), (1024, 1024)),
        ("gen-pro-1.0-fill", json!({ "image": image, "mask": png(120, 90) }), (120, 90)),
        ("gen-tools/erase-v1", json!({ "image": image, "mask": png(120, 90) }), (120, 90)),
        ("gen-tools/deblur-v1", json!({ "image": image }), (120, 90)),
        (
            "gen-pro-1.0-expand",
            json!({ "image": image, "left": 5, "right": 6, "top": 7, "bottom": 0 }),
            (131, 97),
        ),
        ("gen-tools/outpainting-v1", json!({ "width": 200, "height": 150 }), (200, 150)),
        ("gen-tools/outpainting-v1", json!({ "width": null, "reference": image }), (120, 90)),
        ("gen-tools/outpainting-v1", json!({ "width": 200, "reference": image }), (200, 90)),
        ("gen-tools/outpainting-v1", json!({ "width": 2048, "height": 2048 }), (2048, 2048)),
        ("gen-tools/deblur-v1", json!({ "image": image, "width": 64, "height": 64 }), (120, 90)),
        ("gen-tools/vto-v1", json!({ "garments": [{ "picture": png(30, 40) }] }), (30, 40)),
        (
            "gen-tools/vto-v2",
            json!({ "garment": png(30, 40), "person": png(50, 60), "width": 9 }),
            (50, 60),
        ),
        ("gen-tools/vto-v1", json!({ "person": png(1024, 2048) }), (1024, 2048)),
        ("gen-tools/vto-v1", json!({ "person": png(1025, 2048) }), (724, 1447)),
        ("gen-tools/vto-v2", json!({ "person": png(2048, 2048) }), (2048, 2048)),
        ("gen-3-video", json!({ "mode": "t2v" }), (1920, 1088)),
        ("gen-2-klein-4b", json!({ "aspect_ratio": "4294967295:1" }), (1024, 1024)),
    ] {
        assert_eq!(size(&bench, &format!("/v1/{path}"), &body).await, expected, "{path} {body}");
    }
}

#[tokio::test]
async fn invalid_sizes_are_rejected() {
    let bench = Bench::new().await;
    for (operation, body, expected) in [
        ("gen-2-pro", json!({ "prompt": "x", "width": 8193 }), "body.width less_than_equal"),
        (
            "gen-2-pro",
            json!({ "prompt": "x", "width": 1e300, "height": u64::MAX }),
            "body.height less_than_equal, body.width less_than_equal",
        ),
        ("gen-2-pro", json!({ "prompt": "x", "width": 8192, "height": 8192 }), "body value_error"),
        (
            "gen-tools/outpainting-v1",
            json!({ "width": 1 << 20, "height": 0 }),
            "body.height greater_than_equal, body.width less_than_equal",
        ),
        ("gen-tools/outpainting-v1", json!({ "width": 2048, "height": 2049 }), "body value_error"),
        (
            "gen-tools/outpainting-v1",
            json!({
                "width": "200",
                "height": 7.5,
                "reference_offset_x": [],
                "reference_offset_y": 1e9,
            }),
            concat!(
                "body.height int_from_float, ",
                "body.reference_offset_x int_type, ",
                "body.reference_offset_y less_than_equal, ",
                "body.width int_parsing",
            ),
        ),
        (
            "gen-tools/outpainting-v1",
            json!({
                "width": 200,
                "height": 200,
                "reference": png(9, 8),
                "reference_offset_x": 200,
                "reference_offset_y": -8,
            }),
            "body.reference_offset_x value_error, body.reference_offset_y value_error",
        ),
        ("gen-tools/erase-v1", json!({ "dilation": -1 }), "body.dilation greater_than_equal"),
        (
            "gen-tools/vto-v2",
            json!({ "person": { "photos": [png(2048, 2049)] } }),
            "body.person.photos.0 value_error",
        ),
    ] {
        bench.assert_violations(operation, &body, expected).await;
    }
}
