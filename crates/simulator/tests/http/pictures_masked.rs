//! What lies on the pictures that the user's own image is a part of: no smear, no caption, and a
//! garment where it belongs.

use image::{GrayImage, Luma, Rgba, RgbaImage, imageops::crop_imm};
use serde_json::json;

use super::{
    bench::{Bench, base64},
    pictures_edit::{edit, photo, upper},
    pictures_prompt::{is_red, share},
};

/// Sky and ground, with a fine texture.
fn banded(width: u32, height: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, y| {
        let texture = ((x + 2 * y) % 4 * 5) as u8;
        if y < height / 2 {
            Rgba([90 + texture, 150, 210, 255])
        } else {
            Rgba([200, 170 + texture, 120, 255])
        }
    })
}

#[tokio::test]
async fn erase_continues_the_picture_up_to_its_border() {
    let bench = Bench::new().await;
    let clean = banded(160, 120);
    let is_object = |x: u32, y: u32| x >= 120 && (30..100).contains(&y);
    let mut image = clean.clone();
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        if is_object(x, y) {
            *pixel = Rgba([220, 20, 160, 255]);
        }
    }
    let mask = GrayImage::from_fn(160, 120, |x, y| Luma([255 * u8::from(is_object(x, y))]));
    let body = json!({ "image": base64(image), "mask": base64(mask) });
    let erased = edit(&bench, "gen-tools/erase-v1", body).await;
    for (x, y, pixel) in erased.enumerate_pixels() {
        let expected = clean.get_pixel(x, y).0;
        let apart = pixel.0.iter().zip(expected).map(|(a, b)| a.abs_diff(b)).max();
        assert!(apart <= Some(12), "{x} {y}: {pixel:?}, not {expected:?}");
    }
}

#[tokio::test]
async fn no_caption_lies_on_what_was_asked_for() {
    let bench = Bench::new().await;
    // Only the caption depends on this field.
    let both = async |path: &str, body: serde_json::Value| {
        let mut pictures = Vec::new();
        for upsampled in [true, false] {
            let mut body = body.clone();
            body["prompt_upsampling"] = upsampled.into();
            pictures.push(edit(&bench, path, body).await);
        }
        pictures[0] == pictures[1]
    };
    let plain = json!({ "prompt": "a door", "width": 256, "height": 256 });
    assert!(!both("gen-pro-1.0", plain).await, "the caption of a painting shows it");

    let image = photo(3, 400, 300);
    let mask = GrayImage::from_pixel(400, 300, Luma([255]));
    let fill = json!({ "image": base64(image.clone()), "mask": base64(mask), "prompt": "a door" });
    assert!(both("gen-pro-1.0-fill", fill).await);
    let sides = json!({ "image": base64(image), "prompt": "a door", "top": 300, "left": 300 });
    assert!(both("gen-pro-1.0-expand", sides).await);

    // A caption would darken an erased area.
    let white = RgbaImage::from_pixel(400, 300, Rgba([255; 4]));
    let mask = GrayImage::from_fn(400, 300, |x, _| Luma([if x > 20 { 255 } else { 0 }]));
    let body = json!({ "image": base64(white.clone()), "mask": base64(mask) });
    assert!(edit(&bench, "gen-tools/erase-v1", body).await == white);

    // Above a placed reference there is no caption either: the strip continues the reference.
    let body = json!({
        "reference": base64(white),
        "width": 400,
        "height": 600,
        "reference_offset_x": 0,
        "reference_offset_y": 300,
        "prompt": "",
    });
    let extended = edit(&bench, "gen-tools/outpainting-v1", body).await;
    let beside = crop_imm(&extended, 0, 285, 400, 12).to_image();
    assert!(beside.iter().all(|part| *part > 200), "just above the reference");
}

#[tokio::test]
async fn fill_shows_in_the_mask_what_the_prompt_names() {
    let bench = Bench::new().await;
    let image = RgbaImage::from_pixel(300, 200, Rgba([128, 128, 128, 255]));
    let is_filled = |x: u32, y: u32| (20..120).contains(&x) && (30..130).contains(&y);
    let mask = GrayImage::from_fn(300, 200, |x, y| Luma([255 * u8::from(is_filled(x, y))]));
    let body = json!({
        "image": base64(image),
        "mask": base64(mask),
        "prompt": "a red fox in the snow",
    });
    let filled = edit(&bench, "gen-pro-1.0-fill", body).await;
    let red = share(&crop_imm(&filled, 20, 30, 100, 100).to_image(), is_red);
    assert!(red > 0.04, "{red}");
}

#[tokio::test]
async fn a_garment_is_on_the_torso_without_its_background() {
    let bench = Bench::new().await;
    let grey = [100, 110, 120, 255];
    let person = RgbaImage::from_pixel(300, 400, Rgba(grey));
    let garment = RgbaImage::from_fn(200, 200, |x, y| {
        let is_cloth = (60..140).contains(&x) && (40..160).contains(&y);
        Rgba(if is_cloth { [200, 20, 30, 255] } else { [250, 250, 250, 255] })
    });
    for path in ["gen-tools/vto-v1", "gen-tools/vto-v2"] {
        let body = json!({
            "person_image": base64(person.clone()),
            "garment": base64(garment.clone()),
        });
        let worn = edit(&bench, path, body).await;
        assert!(upper(&worn) == upper(&person), "{path}: head");
        let [r, g, b, _] = worn.get_pixel(150, 280).0;
        assert!(r > 150 && g < 60 && b < 60, "{path}: {r} {g} {b} in the middle of the torso");
        for x in [4, 295] {
            assert_eq!(worn.get_pixel(x, 280).0, grey, "{path}: beside the torso");
        }
        assert!(worn.pixels().all(|pixel| pixel.0[..3] != [250; 3]), "{path}: background");
    }
}
