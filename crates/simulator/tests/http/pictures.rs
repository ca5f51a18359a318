//! How the settings of a request change its picture, and the label of every picture.

use std::io::Cursor;

use image::{ImageDecoder as _, ImageReader, RgbaImage};
use serde_json::{Value, json};

use super::{
    bench::Bench,
    pictures_edit::{distance, edit, upper},
};

#[tokio::test]
async fn settings_change_the_painting() {
    let bench = Bench::with_finetunes(&["clay", "glass"]).await;
    let upper_with = async |path: &str, field: &str, value: Value| {
        let mut body = json!({ "prompt": "a fox", "width": 128, "height": 128 });
        if path.ends_with("finetuned") {
            body["finetune_id"] = "clay".into();
        }
        body[field] = value;
        upper(&edit(&bench, path, body).await)
    };
    let spread = |picture: &RgbaImage| {
        let values = || picture.iter().map(|part| f64::from(*part));
        let mean = values().sum::<f64>() / values().count() as f64;
        values().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let mut spreads = Vec::new();
    for guidance in [1.5, 5.0, 10.0] {
        spreads.push(spread(&upper_with("gen-2-flex", "guidance", guidance.into()).await));
    }
    assert!(spreads[0] < spreads[1] && spreads[1] < spreads[2], "guidance: {spreads:?}");
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
    for (path, field, one, other) in [
        ("gen-pro-1.1-ultra", "raw", json!(false), json!(true)),
        ("gen-2-klein-9b-kv-finetuned", "finetune_id", json!("clay"), json!("glass")),
    ] {
        let (one, other) =
            (upper_with(path, field, one).await, upper_with(path, field, other).await);
        assert!(one != other, "{path}: {field}");
    }
}

#[tokio::test]
async fn defaults_come_from_the_contract() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "a fox", "width": 256, "height": 256 });
    let mut spelled_out = body.clone();
    spelled_out["guidance"] = 5.into();
    spelled_out["steps"] = 50.into();
    spelled_out["prompt_upsampling"] = true.into();
    let picture = edit(&bench, "gen-2-flex", body).await;
    assert!(picture == edit(&bench, "gen-2-flex", spelled_out.clone()).await);
    spelled_out["prompt_upsampling"] = false.into();
    assert!(picture != edit(&bench, "gen-2-flex", spelled_out).await, "the caption shows it");
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
