//! What is refused, and how.

use axum::http::{Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;
use imagekiln_simulator::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::bench::{Bench, image, png};
use super::contract::submissions;

#[tokio::test]
async fn every_endpoint_wants_a_known_key() {
    let bench = Bench::new().await;
    let mut requests: Vec<_> =
        submissions().iter().map(|submission| (Method::POST, submission.path.clone())).collect();
    requests.push((Method::GET, "/v1/get_result?id=x".to_owned()));
    let mut refused = 0;
    for (method, path) in requests {
        for base in [bench.sim.base_url(), bench.sim.regional_base_url()] {
            let wrong: [&[_]; 3] = [
                &[],
                &[("x-key", "")],
                &[("x-key", "imagekiln-simulator-ke"), ("authorization", "x")],
            ];
            for headers in wrong {
                let answer =
                    bench.send(method.clone(), &format!("{base}{path}"), headers, "{}").await;
                assert_eq!(answer.status, 403, "{method} {path}");
                assert!(answer.json()["detail"].as_str().unwrap().contains("x-key"));
                refused += 1;
            }
        }
    }
    let counts = bench.sim.counts();
    assert_eq!((counts.accepted, counts.polls, counts.refused_with(403)), (0, 0, refused));
}

#[tokio::test]
async fn each_configured_key_is_let_in() {
    let bench = Bench::with(Config {
        api_keys: vec!["first".to_owned(), "second".to_owned()],
        ..Config::default()
    })
    .await;
    assert_eq!(bench.sim.api_key(), "first");
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    for (key, status) in [("first", 200), ("second", 200), ("imagekiln-simulator-key", 403)] {
        let answer = bench.send(Method::GET, &url, &[("x-key", key)], "").await;
        assert_eq!(answer.status, status, "{key}");
    }
}

#[tokio::test]
async fn what_is_not_served_is_not_found() {
    let bench = Bench::new().await;
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v1/gen-9-pro",
        "/v1/gen-2-pro/",
        "/v2/gen-2-pro",
        "/v1/klein-finetuned",
        "/delivery",
    ] {
        let answer = bench.post(path, &json!({ "prompt": "x" })).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.json(), json!({ "detail": "Not Found" }));
    }
    let answer = bench.get(&format!("{}/v1/gen-2-pro", bench.sim.base_url())).await;
    assert_eq!(answer.status, 405);
    assert_eq!(answer.headers[header::ALLOW], "POST");
    assert!(answer.json()["detail"].is_string());
    assert_eq!(bench.post("/v1/get_result", &json!({})).await.status, 405);
    assert_eq!(bench.sim.counts().accepted, 0);
}

#[tokio::test]
async fn bodies_over_the_limit_are_refused() {
    let bench = Bench::with(Config { max_body_bytes: 100, ..Config::default() }).await;
    let body = |length: usize| format!("{{\"prompt\":\"{}\"}}", "x".repeat(length - 13));
    assert_eq!(bench.post_bytes("/v1/gen-2-pro", body(100)).await.status, 200);
    let answer = bench.post_bytes("/v1/gen-2-pro", body(101)).await;
    assert_eq!(answer.status, 413);
    assert!(answer.json()["detail"].as_str().unwrap().contains("100 bytes"));
    assert_eq!(bench.post_bytes("/v1/gen-2-pro", body(1 << 20)).await.status, 413);
    // One that does not say its length before.
    let host = bench.sim.base_url().trim_start_matches("http://");
    let chunk = "x".repeat(101);
    let request = format!(
        "POST /v1/gen-2-pro HTTP/1.1\r\nhost: {host}\r\nx-key: {}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n{chunk}\r\n0\r\n\r\n",
        bench.sim.api_key(),
        chunk.len()
    );
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert_eq!(bench.sim.counts().refused_with(413), 3);
    assert_eq!(bench.sim.counts().accepted, 1);
}

#[tokio::test]
async fn only_json_is_read() {
    let bench = Bench::new().await;
    let url = format!("{}/v1/gen-2-pro", bench.sim.base_url());
    for (kind, status) in [
        ("application/json; charset=utf-8", 200),
        ("Application/JSON", 200),
        ("application/problem+json", 200),
        ("text/plain", 422),
        ("application/x-www-form-urlencoded", 422),
    ] {
        let headers = [("x-key", bench.sim.api_key()), ("content-type", kind)];
        let answer = bench.send(Method::POST, &url, &headers, r#"{"prompt":"x"}"#).await;
        assert_eq!(answer.status, status, "{kind}");
    }
    let answer = bench.send(Method::POST, &url, &[("x-key", bench.sim.api_key())], "{}").await;
    assert_eq!(answer.violations(), [("body".to_owned(), "model_attributes_type".to_owned())]);
}

#[tokio::test]
async fn each_kind_of_violation_has_its_place_and_type() {
    let bench = Bench::new().await;
    let truncated = |format| {
        let bytes = STANDARD.decode(image(format, 64, 64)).unwrap();
        STANDARD.encode(&bytes[..bytes.len() / 2])
    };
    let square = png(64, 64);
    for (path, body, expected) in [
        ("gen-2-pro", json!({}), vec!["body.prompt missing"]),
        ("gen-2-pro", json!([]), vec!["body model_attributes_type"]),
        ("gen-2-pro", json!(null), vec!["body model_attributes_type"]),
        ("gen-2-pro", json!({ "prompt": 7 }), vec!["body.prompt string_type"]),
        ("gen-2-pro", json!({ "prompt": null }), vec!["body.prompt string_type"]),
        (
            "gen-2-pro",
            json!({ "prompt": "x", "width": 63, "height": 0, "seed": "7", "disable_pup": 1, "safety_tolerance": 6, "output_format": "gif" }),
            vec![
                "body.disable_pup bool_type",
                "body.height greater_than_equal",
                "body.output_format enum",
                "body.safety_tolerance less_than_equal",
                "body.seed int_parsing",
                "body.width greater_than_equal",
            ],
        ),
        ("gen-2-pro", json!({ "prompt": "x", "seed": 1.5 }), vec!["body.seed int_from_float"]),
        ("gen-2-pro", json!({ "prompt": "x", "seed": [] }), vec!["body.seed int_type"]),
        (
            "gen-2-pro",
            json!({ "prompt": "x", "output_format": 1 }),
            vec!["body.output_format enum"],
        ),
        (
            "gen-2-pro",
            json!({ "prompt": "x", "webhook_url": "nowhere", "webhook_secret": 1 }),
            vec!["body.webhook_secret string_type", "body.webhook_url url_parsing"],
        ),
        (
            "gen-2-pro",
            json!({ "prompt": "x", "webhook_url": format!("https://example.com/{}", "x".repeat(2083)) }),
            vec!["body.webhook_url string_too_long"],
        ),
        (
            "gen-2-flex",
            json!({ "prompt": "x", "guidance": "5" }),
            vec!["body.guidance float_parsing"],
        ),
        (
            "gen-2-flex",
            json!({ "prompt": "x", "guidance": 1.4, "steps": 0 }),
            vec!["body.guidance greater_than_equal", "body.steps greater_than_equal"],
        ),
        ("gen-dev", json!({ "width": 300 }), vec!["body.width multiple_of"]),
        ("gen-tools/outpainting-v1", json!({ "mode": "slow" }), vec!["body.mode enum"]),
        (
            "gen-kontext-pro",
            json!({ "aspect_ratio": "22:9" }),
            vec!["body.aspect_ratio value_error"],
        ),
        (
            "gen-kontext-pro",
            json!({ "aspect_ratio": "16x9" }),
            vec!["body.aspect_ratio value_error"],
        ),
        ("gen-dev", json!({ "image_prompt": "%%%" }), vec!["body.image_prompt value_error"]),
        ("gen-dev", json!({ "image_prompt": "" }), vec!["body.image_prompt value_error"]),
        (
            "gen-dev",
            json!({ "image_prompt": STANDARD.encode("no image, though it is base64") }),
            vec!["body.image_prompt value_error"],
        ),
        (
            "gen-dev",
            json!({ "image_prompt": "https://example.com/a.png" }),
            vec!["body.image_prompt value_error"],
        ),
        (
            "gen-dev",
            json!({ "image_prompt": truncated(ImageFormat::Png) }),
            vec!["body.image_prompt value_error"],
        ),
        (
            "gen-dev",
            json!({ "image_prompt": truncated(ImageFormat::Jpeg) }),
            vec!["body.image_prompt value_error"],
        ),
        (
            "gen-dev",
            json!({ "image_prompt": truncated(ImageFormat::WebP) }),
            vec!["body.image_prompt value_error"],
        ),
        (
            "gen-pro-1.0-fill",
            json!({ "image": square, "mask": png(64, 63) }),
            vec!["body.mask value_error"],
        ),
        (
            "gen-tools/erase-v1",
            json!({ "image": square, "mask": png(63, 64) }),
            vec!["body.mask value_error"],
        ),
        ("gen-tools/deblur-v1", json!({}), vec!["body.image missing"]),
        (
            "gen-tools/deblur-v1",
            json!({ "image": announcing(2049, 2048) }),
            vec!["body.image value_error"],
        ),
        (
            "gen-pro-1.0-fill-finetuned",
            json!({ "finetune_strength": 2.1 }),
            vec![
                "body.finetune_id missing",
                "body.finetune_strength less_than_equal",
                "body.image missing",
            ],
        ),
        (
            "gen-pro-1.0-fill",
            json!({ "image": "%", "mask": "%", "steps": 14 }),
            vec![
                "body.image value_error",
                "body.mask value_error",
                "body.steps greater_than_equal",
            ],
        ),
        (
            "gen-tools/vto-v1",
            json!({ "people": [{ "photo": truncated(ImageFormat::Png) }] }),
            vec!["body.people.0.photo value_error"],
        ),
    ] {
        let answer = bench.post(&format!("/v1/{path}"), &body).await;
        let found: Vec<_> =
            answer.violations().iter().map(|(loc, kind)| format!("{loc} {kind}")).collect();
        assert_eq!(found, expected, "{path}: {:?}", answer.json());
    }
    assert_eq!(bench.sim.counts().accepted, 0);
}

#[tokio::test]
async fn deblur_takes_four_megapixels_and_not_one_row_more() {
    let bench = Bench::new().await;
    let refused =
        bench.post("/v1/gen-tools/deblur-v1", &json!({ "image": announcing(2048, 2049) })).await;
    assert!(
        refused.json()["detail"][0]["msg"].as_str().unwrap().contains("over the limit"),
        "{refused:?}"
    );
    // This one passes the check of its size, and fails on what is missing behind its head.
    let larger =
        bench.post("/v1/gen-tools/deblur-v1", &json!({ "image": announcing(2048, 2048) })).await;
    assert!(
        larger.json()["detail"][0]["msg"].as_str().unwrap().contains("cannot be decoded"),
        "{larger:?}"
    );
}

#[tokio::test]
async fn bodies_that_are_no_json_are_told_where_they_break() {
    let bench = Bench::new().await;
    for (body, place, kind) in [
        (&b""[..], json!(["body"]), "missing"),
        (b"{", json!(["body", 0]), "json_invalid"),
        (b"{\"prompt\": x}", json!(["body", 11]), "json_invalid"),
        (b"{\"prompt\":\n\n  'x'}", json!(["body", 14]), "json_invalid"),
        (b"{\"prompt\": \"\xff\"}", json!(["body", 12]), "json_invalid"),
    ] {
        let answer = bench.post_bytes("/v1/gen-2-pro", body).await;
        assert_eq!(answer.status, 422);
        let violation = &answer.json()["detail"][0];
        assert_eq!((&violation["type"], &violation["loc"]), (&json!(kind), &place), "{body:?}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(bench.post_bytes("/v1/gen-2-pro", deep).await.violations()[0].1, "json_invalid");
}

#[tokio::test]
async fn violations_do_not_quote_what_they_are_about() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": 1, "webhook_secret": ["hidden-secret"], "input_image": "hidden-image", "output_format": "hidden-format" });
    let answer = bench.post("/v1/gen-2-pro", &body).await;
    assert_eq!(answer.violations().len(), 4);
    assert!(!answer.json().to_string().contains("hidden"), "{answer:?}");
}

#[tokio::test]
async fn images_of_absurd_dimensions_are_refused_before_decoding() {
    let bench = Bench::new().await;
    let answer =
        bench.post("/v1/gen-dev", &json!({ "image_prompt": announcing(60_000, 60_000) })).await;
    assert_eq!(answer.violations(), [("body.image_prompt".to_owned(), "value_error".to_owned())]);
    assert!(
        answer.json()["detail"][0]["msg"].as_str().unwrap().contains("60000 x 60000"),
        "{answer:?}"
    );
}

/// A valid head that announces so many pixels, with nothing behind it.
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
async fn a_poll_without_an_id_is_invalid() {
    let bench = Bench::new().await;
    let answer = bench.get(&format!("{}/v1/get_result", bench.sim.base_url())).await;
    assert_eq!(answer.violations(), [("query.id".to_owned(), "missing".to_owned())]);
    let answer = bench.get(&format!("{}/v1/get_result?id=a%20b", bench.sim.base_url())).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()),
        (200, json!({ "id": "a b", "status": "Task not found" }))
    );
    assert_eq!(answer.json().get("result"), None::<&Value>);
}
