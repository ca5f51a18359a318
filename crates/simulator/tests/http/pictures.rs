//! How the settings of a request change its picture, and the label of every picture.

use std::io::Cursor;

use image::{ImageDecoder as _, ImageReader, RgbImage};
use serde_json::{Value, json};

use super::bench::Bench;

async fn painted(bench: &Bench, path: &str, body: &Value) -> RgbImage {
    image::load_from_memory(&bench.picture(path, body).await).unwrap().into_rgb8()
}

/// The part of a picture above the caption.
fn upper(picture: &RgbImage) -> RgbImage {
    image::imageops::crop_imm(picture, 0, 0, picture.width(), picture.height() / 2).to_image()
}

#[tokio::test]
async fn each_setting_changes_the_painting() {
    let bench = Bench::with_finetunes(&["clay", "glass"]).await;
    let flex = json!({
        "prompt": "a fox",
        "seed": 7,
        "width": 128,
        "height": 128,
        "output_format": "png",
    });
    let ultra =
        json!({ "prompt": "a fox", "seed": 7, "output_format": "png", "aspect_ratio": "21:9" });
    let mut klein = flex.clone();
    klein["finetune_id"] = "clay".into();
    for (path, body, field, values) in [
        ("gen-2-flex", &flex, "guidance", vec![json!(1.5), json!(5), json!(10)]),
        ("gen-2-flex", &flex, "steps", vec![json!(1), json!(20), json!(50)]),
        ("gen-pro-1.1-ultra", &ultra, "raw", vec![json!(false), json!(true)]),
        (
            "gen-2-klein-9b-kv-finetuned",
            &klein,
            "finetune_strength",
            vec![json!(0), json!(1), json!(2)],
        ),
        ("gen-2-klein-9b-kv-finetuned", &klein, "finetune_id", vec![json!("clay"), json!("glass")]),
    ] {
        let mut pictures: Vec<RgbImage> = Vec::new();
        for value in values {
            let mut body = body.clone();
            body[field] = value;
            let picture = painted(&bench, &format!("/v1/{path}"), &body).await;
            assert!(
                picture == painted(&bench, &format!("/v1/{path}"), &body).await,
                "always the same picture"
            );
            pictures.push(upper(&picture));
        }
        for (index, picture) in pictures.iter().enumerate() {
            assert!(!pictures[..index].contains(picture), "{path}: {field}");
        }
    }
}

#[tokio::test]
async fn settings_change_the_painting_in_their_direction() {
    let bench = Bench::with_finetunes(&["clay"]).await;
    let upper_with = async |path: &str, field: &str, value: Value| {
        let mut body = json!({ "prompt": "a fox", "seed": 7, "width": 128, "height": 128,
            "output_format": "png" });
        if path.ends_with("finetuned") {
            body["finetune_id"] = "clay".into();
        }
        body[field] = value;
        upper(&painted(&bench, &format!("/v1/{path}"), &body).await)
    };
    let spread = |picture: &RgbImage| {
        let values = || picture.iter().map(|part| f64::from(*part));
        let mean = values().sum::<f64>() / values().count() as f64;
        values().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let distance = |one: &RgbImage, other: &RgbImage| {
        one.iter().zip(other.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum::<u64>()
    };
    let mut spreads = Vec::new();
    for guidance in [1.5, 5.0, 10.0] {
        spreads.push(spread(&upper_with("gen-2-flex", "guidance", guidance.into()).await));
    }
    assert!(spreads.is_sorted() && spreads[0] < spreads[2], "guidance: {spreads:?}");
    for (path, field, values) in [
        ("gen-2-flex", "steps", [50, 25, 1]),
        ("gen-2-klein-9b-kv-finetuned", "finetune_strength", [0, 1, 2]),
    ] {
        let [plain, more, most] = values;
        let plain = upper_with(path, field, plain.into()).await;
        let more = distance(&plain, &upper_with(path, field, more.into()).await);
        let most = distance(&plain, &upper_with(path, field, most.into()).await);
        assert!(0 < more && more < most, "{field}: {more} {most}");
    }
}

#[tokio::test]
async fn prompt_and_seed_change_the_painting() {
    let bench = Bench::new().await;
    let paint = async |prompt: &str, seed: u32| {
        let body = json!({ "prompt": prompt, "seed": seed, "width": 96, "height": 64 });
        bench.picture("/v1/gen-2-pro", &body).await
    };
    let fox = paint("fox", 7).await;
    assert!(fox == paint("fox", 7).await);
    assert!(fox != paint("fox", 8).await && fox != paint("hen", 7).await);
}

#[tokio::test]
async fn defaults_come_from_the_contract() {
    let bench = Bench::new().await;
    let body = json!({
        "prompt": "a fox",
        "seed": 7,
        "width": 256,
        "height": 256,
        "output_format": "png",
    });
    let mut spelled_out = body.clone();
    spelled_out["guidance"] = 5.into();
    spelled_out["steps"] = 50.into();
    spelled_out["prompt_upsampling"] = true.into();
    let path = "/v1/gen-2-flex";
    let picture = bench.picture(path, &body).await;
    assert!(picture == bench.picture(path, &spelled_out).await);
    spelled_out["prompt_upsampling"] = false.into();
    assert!(picture != bench.picture(path, &spelled_out).await, "the caption shows it");
}

#[tokio::test]
async fn every_file_is_labeled_as_a_placeholder() {
    let bench = Bench::new().await;
    for format in ["jpeg", "png", "webp"] {
        let body = json!({ "prompt": "x", "width": 64, "height": 64, "output_format": format });
        let picture = bench.picture("/v1/gen-2-pro", &body).await;
        let reader = ImageReader::new(Cursor::new(&picture[..])).with_guessed_format().unwrap();
        let exif = reader.into_decoder().unwrap().exif_metadata().unwrap().unwrap();
        let notice = b"a placeholder, not a model's work";
        assert!(exif.windows(notice.len()).any(|part| part == notice), "{format}");
    }
}
