//! Pictures that extend an image: expand and outpainting.

use image::imageops::crop_imm;
use serde_json::json;

use super::{
    bench::Bench,
    pictures_edit::{base64, edit, photo},
};

#[tokio::test]
async fn expand_keeps_the_original_image() {
    let bench = Bench::new().await;
    let mut image = photo(4, 101, 67);
    for (x, _, pixel) in image.enumerate_pixels_mut() {
        pixel.0[3] = 255 * u8::from(x > 50);
    }
    for format in ["png", "webp"] {
        let body = json!({
            "image": base64(image.clone()),
            "top": 40,
            "left": 31,
            "right": 2,
            "output_format": format,
        });
        let expanded = edit(&bench, "gen-pro-1.0-expand", body).await;
        assert_eq!(expanded.dimensions(), (134, 107));
        assert!(crop_imm(&expanded, 31, 40, 101, 67).to_image() == image, "{format}");
    }
    let as_it_is =
        edit(&bench, "gen-pro-1.0-expand", json!({ "image": base64(image.clone()) })).await;
    assert!(as_it_is == image);
    let body = json!({ "image": base64(image), "output_format": "jpeg" });
    let white = edit(&bench, "gen-pro-1.0-expand", body).await.get_pixel(20, 20).0;
    assert!(white.iter().all(|part| *part > 240), "a jpeg shows white, not {white:?}");
}

#[tokio::test]
async fn outpainting_places_the_reference() {
    let bench = Bench::new().await;
    let reference = photo(5, 60, 50);
    let body = json!({ "reference": base64(reference.clone()), "width": 200, "height": 140 });
    let mut placed = body.clone();
    placed["reference_offset_x"] = json!(7.0);
    placed["reference_offset_y"] = json!(88);
    let mut cut = body.clone();
    cut["reference_offset_x"] = json!(-20);
    cut["reference_offset_y"] = json!(0);
    for (body, at, visible) in [
        (body.clone(), (70, 45), (0, 0, 60, 50)),
        (placed.clone(), (7, 88), (0, 0, 60, 50)),
        (cut, (0, 0), (20, 0, 40, 50)),
    ] {
        let picture = edit(&bench, "gen-tools/outpainting-v1", body).await;
        assert_eq!(picture.dimensions(), (200, 140));
        let (x, y, width, height) = visible;
        let part = crop_imm(&picture, at.0, at.1, width, height).to_image();
        assert!(part == crop_imm(&reference, x, y, width, height).to_image(), "at {at:?}");
    }
    let high = edit(&bench, "gen-tools/outpainting-v1", placed.clone()).await;
    placed["mode"] = "fast".into();
    assert!(
        high != edit(&bench, "gen-tools/outpainting-v1", placed).await,
        "the mode must change the picture"
    );
}
