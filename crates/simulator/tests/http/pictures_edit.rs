//! Pictures made from the images of their request, in a lossless format.

use std::io::Cursor;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{
    DynamicImage, GrayImage, ImageFormat, Luma, Rgba, RgbaImage,
    imageops::{FilterType, crop_imm},
};
use serde_json::{Value, json};

use super::bench::Bench;

pub fn base64(image: impl Into<DynamicImage>) -> String {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, ImageFormat::Png).unwrap();
    STANDARD.encode(bytes.into_inner())
}

/// Large soft shapes in many colours.
pub fn photo(seed: u32, width: u32, height: u32) -> RgbaImage {
    let hash = |x: u32, y: u32| {
        (x * 7919 + y * 104_729 + 1).wrapping_mul(seed * 2 + 1).wrapping_mul(0x9e37_79b9)
    };
    let small = RgbaImage::from_fn(5, 5, |x, y| {
        let [a, b, c, _] = hash(x, y).to_be_bytes();
        Rgba([a, b, c, 255])
    });
    DynamicImage::from(small).resize_exact(width, height, FilterType::Triangle).into_rgba8()
}

pub async fn edit(bench: &Bench, path: &str, mut body: Value) -> RgbaImage {
    body["seed"] = 7.into();
    if body.get("output_format").is_none() {
        body["output_format"] = "png".into();
    }
    let bytes = bench.picture(&format!("/v1/{path}"), &body).await;
    image::load_from_memory(&bytes).unwrap().into_rgba8()
}

/// The energy of the Laplacian in the upper half, a measure of sharpness.
pub fn edges(image: &RgbaImage) -> i64 {
    let at = |x: u32, y: u32| i64::from(image.get_pixel(x, y).0[0]);
    let (width, height) = image.dimensions();
    let places = (1..height / 2).flat_map(|y| (1..width - 1).map(move |x| (x, y)));
    let laplacian =
        |(x, y)| at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4 * at(x, y);
    places.map(|place| laplacian(place).pow(2)).sum()
}

fn distance(one: &RgbaImage, other: &RgbaImage) -> u64 {
    assert_eq!(one.dimensions(), other.dimensions());
    one.iter().zip(other.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
}

/// The correlation of the brightness of two pictures, scaled down: 1 if they are equal, 0 if they
/// are unrelated.
fn likeness(one: &RgbaImage, other: &RgbaImage) -> f64 {
    let centred = |image: &RgbaImage| {
        let small = DynamicImage::from(image.clone()).thumbnail_exact(10, 10).into_luma8();
        let mean = small.iter().map(|part| f64::from(*part)).sum::<f64>() / 100.0;
        small.iter().map(|part| f64::from(*part) - mean).collect::<Vec<_>>()
    };
    let (one, other) = (centred(one), centred(other));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt()
}

/// The rectangle in which two pictures differ, cropped from the first.
fn changed(one: &RgbaImage, other: &RgbaImage) -> RgbaImage {
    let places = one.enumerate_pixels().filter(|(x, y, pixel)| other.get_pixel(*x, *y) != *pixel);
    let bounds =
        places.fold((u32::MAX, u32::MAX, 0, 0), |(left, top, right, bottom), (x, y, _)| {
            (left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1))
        });
    let (left, top, right, bottom) = bounds;
    assert!(left < right, "nothing differs");
    crop_imm(one, left, top, right - left, bottom - top).to_image()
}

#[tokio::test]
async fn references_are_recognisable() {
    let bench = Bench::new().await;
    let reference = photo(1, 240, 180);
    let body = json!({ "prompt": "in winter", "input_image": base64(reference.clone()) });
    let edited = edit(&bench, "gen-2-pro", body).await;
    assert_eq!(edited.dimensions(), (240, 180));
    let upper = |image: &RgbaImage| crop_imm(image, 0, 0, 240, 100).to_image();
    let alike = likeness(&upper(&edited), &upper(&reference));
    assert!(alike > 0.9 && edited != reference, "{alike}");

    for (path, count) in [("gen-2-flex", 8), ("gen-kontext-pro", 4)] {
        let body = |other: Option<u32>| {
            let mut body = json!({ "prompt": "all of them" });
            for number in 1..=count {
                let field = if number == 1 {
                    "input_image".to_owned()
                } else {
                    format!("input_image_{number}")
                };
                let mut reference = DynamicImage::from(photo(number, 120, 120));
                if other == Some(number) {
                    reference.invert();
                }
                body[field] = base64(reference).into();
            }
            body
        };
        let whole = edit(&bench, path, body(None)).await;
        for number in 1..=count {
            let other = edit(&bench, path, body(Some(number))).await;
            let alike = likeness(&changed(&whole, &other), &photo(number, 120, 120));
            assert!(alike > 0.9, "{path}, {number} of {count}: {alike}");
        }
    }
}

#[tokio::test]
async fn remix_blends_according_to_the_strength() {
    let bench = Bench::new().await;
    let prompt = photo(2, 336, 192);
    let upper =
        |image: &RgbaImage| crop_imm(image, 0, 0, image.width(), image.height() / 2).to_image();
    let mut pictures = Vec::new();
    for strength in [0.0, 0.1, 0.5, 1.0] {
        let body = json!({
            "prompt": "x",
            "image_prompt": base64(prompt.clone()),
            "image_prompt_strength": strength,
            "aspect_ratio": "7:4",
        });
        pictures.push(upper(&edit(&bench, "gen-pro-1.1-ultra", body).await));
    }
    let plain =
        edit(&bench, "gen-pro-1.1-ultra", json!({ "prompt": "x", "aspect_ratio": "7:4" })).await;
    assert!(pictures[0] == upper(&plain));
    let resized = DynamicImage::from(prompt).resize_exact(
        plain.width(),
        plain.height(),
        FilterType::Triangle,
    );
    assert!(likeness(&pictures[3], &upper(&resized.into_rgba8())) > 0.99);
    for pair in pictures.windows(2) {
        assert!(distance(&pair[0], &pictures[0]) < distance(&pair[1], &pictures[0]));
        assert!(distance(&pair[0], &pictures[3]) > distance(&pair[1], &pictures[3]));
    }
}

#[tokio::test]
async fn fill_changes_only_the_white_part_of_the_mask() {
    let bench = Bench::with_finetunes(&["doors"]).await;
    let image = photo(3, 200, 150);
    let mask = GrayImage::from_fn(200, 150, |x, y| Luma([if x > 120 && y > 30 { 255 } else { 0 }]));
    let mut carrying = image.clone();
    carrying
        .pixels_mut()
        .zip(mask.pixels())
        .for_each(|(pixel, covered)| pixel.0[3] = 255 - covered.0[0]);
    let masked =
        json!({ "image": base64(image.clone()), "mask": base64(mask.clone()), "prompt": "a door" });
    let by_alpha = json!({ "image": base64(carrying), "prompt": "a door" });
    let mut finetuned = masked.clone();
    finetuned["finetune_id"] = "doors".into();
    for (path, body) in [
        ("gen-pro-1.0-fill", masked.clone()),
        ("gen-pro-1.0-fill", by_alpha),
        ("gen-pro-1.0-fill-finetuned", finetuned),
    ] {
        for format in ["png", "webp"] {
            let mut body = body.clone();
            body["output_format"] = format.into();
            let filled = edit(&bench, path, body).await;
            let mut changed = 0;
            for (x, y, covered) in mask.enumerate_pixels() {
                let same = filled.get_pixel(x, y) == image.get_pixel(x, y);
                assert!(covered.0[0] > 0 || same, "{path} {format}: {x} {y}");
                changed += u32::from(!same);
            }
            assert!(changed > 79 * 119 * 9 / 10, "{path}: {changed}");
        }
    }
    let nothing_to_fill =
        edit(&bench, "gen-pro-1.0-fill", json!({ "image": base64(image.clone()) })).await;
    assert!(nothing_to_fill == image);
}

#[tokio::test]
async fn erase_fills_the_mask_and_keeps_the_rest() {
    let bench = Bench::new().await;
    let mut image = photo(6, 90, 80);
    for (x, y) in (30..50).flat_map(|x| (30..40).map(move |y| (x, y))) {
        image.put_pixel(x, y, Rgba([255, 0, 255, 255]));
    }
    // The mask misses the outermost pixels of the object; dilated by one it covers them.
    let mask = GrayImage::from_fn(90, 80, |x, y| {
        Luma([if (31..49).contains(&x) && (31..39).contains(&y) { 255 } else { 0 }])
    });
    let body = json!({ "image": base64(image.clone()), "mask": base64(mask), "dilation": 1 });
    let erased = edit(&bench, "gen-tools/erase-v1", {
        let mut body = body.clone();
        body["output_format"] = "webp".into();
        body
    })
    .await;
    for (x, y, pixel) in erased.enumerate_pixels() {
        if (30..50).contains(&x) && (30..40).contains(&y) {
            assert!(pixel.0 != [255, 0, 255, 255], "{x} {y}");
        } else {
            assert_eq!(pixel, image.get_pixel(x, y), "{x} {y}");
        }
    }
    let mut undilated = body;
    undilated["dilation"] = Value::Null;
    let kept = edit(&bench, "gen-tools/erase-v1", undilated).await;
    assert_eq!(kept.get_pixel(30, 30).0, [255, 0, 255, 255]);
}

#[tokio::test]
async fn deblur_sharpens() {
    let bench = Bench::new().await;
    let stripes = RgbaImage::from_fn(160, 160, |x, y| {
        Rgba([if (x / 9 + y / 7) % 2 == 0 { 190 } else { 70 }; 4])
    });
    let mut blurred = DynamicImage::from(stripes).fast_blur(2.0).into_rgba8();
    blurred.pixels_mut().for_each(|pixel| pixel.0[3] = 255);
    let sharp =
        edit(&bench, "gen-tools/deblur-v1", json!({ "image": base64(blurred.clone()) })).await;
    assert_eq!(sharp.dimensions(), (160, 160));
    assert!(edges(&sharp) > 2 * edges(&blurred), "{} {}", edges(&sharp), edges(&blurred));
}

#[tokio::test]
async fn a_try_on_shows_the_person_and_all_garments() {
    let bench = Bench::new().await;
    let person = photo(7, 300, 400);
    for path in ["gen-tools/vto-v1", "gen-tools/vto-v2"] {
        let body = |garments: [&DynamicImage; 2]| {
            json!({
                "garments": garments.map(|garment| base64(garment.clone())),
                "person_image": base64(person.clone()),
            })
        };
        let garments = [8, 9].map(|seed| DynamicImage::from(photo(seed, 80, 80)));
        let tried_on = edit(&bench, path, body([&garments[0], &garments[1]])).await;
        assert_eq!(tried_on.dimensions(), person.dimensions());
        let upper = |image: &RgbaImage| crop_imm(image, 0, 0, 300, 200).to_image();
        assert!(upper(&tried_on) == upper(&person), "the person must not change");
        for (index, garment) in garments.iter().enumerate() {
            let mut others = garments.clone();
            others[index].invert();
            let other = edit(&bench, path, body([&others[0], &others[1]])).await;
            let alike = likeness(&changed(&tried_on, &other), &garment.to_rgba8());
            assert!(alike > 0.9, "{path}, garment {index}: {alike}");
        }
    }
}

#[tokio::test]
async fn a_control_image_changes_the_picture() {
    let bench = Bench::new().await;
    for path in ["gen-pro-1.0-canny", "gen-pro-1.0-depth-finetuned"] {
        let body = json!({ "prompt": "x", "control_image": base64(photo(10, 64, 64)) });
        let controlled = edit(&bench, path, body).await;
        let plain = edit(&bench, path, json!({ "prompt": "x", "width": 64, "height": 64 })).await;
        assert!(controlled != plain, "{path}");
    }
}
