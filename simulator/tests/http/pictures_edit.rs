//! Pictures worked from the images of their request, in a format without loss.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::imageops::{FilterType, crop_imm};
use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgba, RgbaImage};
use serde_json::{Value, json};

use super::bench::Bench;

fn base64(image: impl Into<DynamicImage>) -> String {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, ImageFormat::Png).unwrap();
    STANDARD.encode(bytes.into_inner())
}

/// Large soft shapes in many colours.
fn photo(seed: u32, width: u32, height: u32) -> RgbaImage {
    let hash = |x: u32, y: u32| {
        (x * 7919 + y * 104_729 + 1).wrapping_mul(seed * 2 + 1).wrapping_mul(0x9e37_79b9)
    };
    let small = RgbaImage::from_fn(5, 5, |x, y| {
        let [a, b, c, _] = hash(x, y).to_be_bytes();
        Rgba([a, b, c, 255])
    });
    DynamicImage::from(small).resize_exact(width, height, FilterType::Triangle).into_rgba8()
}

async fn work(bench: &Bench, path: &str, mut body: Value) -> RgbaImage {
    body["seed"] = 7.into();
    if body.get("output_format").is_none() {
        body["output_format"] = "png".into();
    }
    let bytes = bench.picture(&format!("/v1/{path}"), &body).await;
    image::load_from_memory(&bytes).unwrap().into_rgba8()
}

fn distance(one: &RgbaImage, other: &RgbaImage) -> u64 {
    assert_eq!(one.dimensions(), other.dimensions());
    one.iter().zip(other.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
}

/// How alike two pictures are in their brightness, made small: 1 for the same, 0 for unrelated
/// ones.
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

/// The rectangle in which two pictures differ, cut from the first.
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
async fn references_are_recognised_one_and_eight_and_four() {
    let bench = Bench::new().await;
    let reference = photo(1, 240, 180);
    let body = json!({ "prompt": "in winter", "input_image": base64(reference.clone()) });
    let edited = work(&bench, "gen-2-pro", body).await;
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
        let whole = work(&bench, path, body(None)).await;
        for number in 1..=count {
            let other = work(&bench, path, body(Some(number))).await;
            let alike = likeness(&changed(&whole, &other), &photo(number, 120, 120));
            assert!(alike > 0.9, "{path}, {number} of {count}: {alike}");
        }
    }
}

#[tokio::test]
async fn remix_blends_by_the_strength() {
    let bench = Bench::new().await;
    let prompt = photo(2, 336, 192);
    let upper =
        |image: &RgbaImage| crop_imm(image, 0, 0, image.width(), image.height() / 2).to_image();
    let mut pictures = Vec::new();
    for strength in [0.0, 0.1, 0.5, 1.0] {
        let body = json!({ "prompt": "x", "image_prompt": base64(prompt.clone()), "image_prompt_strength": strength, "aspect_ratio": "7:4" });
        pictures.push(upper(&work(&bench, "gen-pro-1.1-ultra", body).await));
    }
    let plain =
        work(&bench, "gen-pro-1.1-ultra", json!({ "prompt": "x", "aspect_ratio": "7:4" })).await;
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
async fn fill_changes_what_is_white_and_nothing_else() {
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
            let filled = work(&bench, path, body).await;
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
        work(&bench, "gen-pro-1.0-fill", json!({ "image": base64(image.clone()) })).await;
    assert!(nothing_to_fill == image);
}

#[tokio::test]
async fn expand_keeps_the_middle() {
    let bench = Bench::new().await;
    let image = photo(4, 101, 67);
    for format in ["png", "webp"] {
        let body = json!({ "image": base64(image.clone()), "top": 40, "left": 31, "right": 2, "output_format": format });
        let expanded = work(&bench, "gen-pro-1.0-expand", body).await;
        assert_eq!(expanded.dimensions(), (134, 107));
        assert!(crop_imm(&expanded, 31, 40, 101, 67).to_image() == image, "{format}");
    }
    let as_it_is =
        work(&bench, "gen-pro-1.0-expand", json!({ "image": base64(image.clone()) })).await;
    assert!(as_it_is == image);
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
        let picture = work(&bench, "gen-tools/outpainting-v1", body).await;
        assert_eq!(picture.dimensions(), (200, 140));
        let (x, y, width, height) = visible;
        let part = crop_imm(&picture, at.0, at.1, width, height).to_image();
        assert!(part == crop_imm(&reference, x, y, width, height).to_image(), "at {at:?}");
    }
    let high = work(&bench, "gen-tools/outpainting-v1", placed.clone()).await;
    placed["mode"] = "fast".into();
    assert!(high != work(&bench, "gen-tools/outpainting-v1", placed).await, "the mode shows");
}

#[tokio::test]
async fn erase_fills_from_around_and_keeps_the_rest() {
    let bench = Bench::new().await;
    let mut image = photo(6, 90, 80);
    for (x, y) in (30..50).flat_map(|x| (30..40).map(move |y| (x, y))) {
        image.put_pixel(x, y, Rgba([255, 0, 255, 255]));
    }
    // The mask misses the outermost row of what is to go; dilated by one it does not.
    let mask = GrayImage::from_fn(90, 80, |x, y| {
        Luma([if (31..49).contains(&x) && (31..39).contains(&y) { 255 } else { 0 }])
    });
    let body = json!({ "image": base64(image.clone()), "mask": base64(mask), "dilation": 1 });
    let erased = work(&bench, "gen-tools/erase-v1", {
        let mut body = body.clone();
        body["output_format"] = "webp".into();
        body
    })
    .await;
    for (x, y, pixel) in erased.enumerate_pixels() {
        match (30..50).contains(&x) && (30..40).contains(&y) {
            true => assert!(pixel.0 != [255, 0, 255, 255], "{x} {y}"),
            false => assert_eq!(pixel, image.get_pixel(x, y), "{x} {y}"),
        }
    }
    let mut undilated = body;
    undilated["dilation"] = Value::Null;
    let kept = work(&bench, "gen-tools/erase-v1", undilated).await;
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
        work(&bench, "gen-tools/deblur-v1", json!({ "image": base64(blurred.clone()) })).await;
    assert_eq!(sharp.dimensions(), (160, 160));
    let edges = |image: &RgbaImage| {
        let at = |x: u32, y: u32| i64::from(image.get_pixel(x, y).0[0]);
        let places = (1..80).flat_map(|y| (1..159).map(move |x| (x, y)));
        let laplacian =
            |(x, y)| at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4 * at(x, y);
        places.map(|place| laplacian(place).pow(2)).sum::<i64>()
    };
    assert!(edges(&sharp) > 2 * edges(&blurred), "{} {}", edges(&sharp), edges(&blurred));
}

#[tokio::test]
async fn a_try_on_shows_the_person_and_every_garment() {
    let bench = Bench::new().await;
    let person = photo(7, 300, 400);
    for path in ["gen-tools/vto-v1", "gen-tools/vto-v2"] {
        let body = |garments: [&DynamicImage; 2]| json!({ "garments": garments.map(|garment| base64(garment.clone())), "person_image": base64(person.clone()) });
        let garments = [8, 9].map(|seed| DynamicImage::from(photo(seed, 80, 80)));
        let tried_on = work(&bench, path, body([&garments[0], &garments[1]])).await;
        assert_eq!(tried_on.dimensions(), person.dimensions());
        let upper = |image: &RgbaImage| crop_imm(image, 0, 0, 300, 200).to_image();
        assert!(upper(&tried_on) == upper(&person), "the face is kept");
        for (index, garment) in garments.iter().enumerate() {
            let mut others = garments.clone();
            others[index].invert();
            let other = work(&bench, path, body([&others[0], &others[1]])).await;
            let alike = likeness(&changed(&tried_on, &other), &garment.to_rgba8());
            assert!(alike > 0.9, "{path}, garment {index}: {alike}");
        }
    }
}

#[tokio::test]
async fn a_control_image_shows() {
    let bench = Bench::new().await;
    for path in ["gen-pro-1.0-canny", "gen-pro-1.0-depth-finetuned"] {
        let body = json!({ "prompt": "x", "control_image": base64(photo(10, 64, 64)) });
        let controlled = work(&bench, path, body).await;
        let plain = work(&bench, path, json!({ "prompt": "x", "width": 64, "height": 64 })).await;
        assert!(controlled != plain, "{path}");
    }
}
