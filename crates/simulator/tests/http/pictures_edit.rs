//! Pictures made from the images of their request, in a lossless format.

use image::{
    DynamicImage, Rgba, RgbaImage,
    imageops::{FilterType, crop_imm},
};
use serde_json::{Value, json};

use super::bench::{Bench, base64, small};

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

/// The picture of a request, by default with a fixed seed and without loss.
pub async fn edit(bench: &Bench, path: &str, mut body: Value) -> RgbaImage {
    for (field, value) in [("seed", json!(7)), ("output_format", json!("png"))] {
        if body.get(field).is_none() {
            body[field] = value;
        }
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

/// The half of a picture above its caption.
pub fn upper(image: &RgbaImage) -> RgbaImage {
    crop_imm(image, 0, 0, image.width(), image.height() / 2).to_image()
}

pub fn distance(one: &RgbaImage, other: &RgbaImage) -> u64 {
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
        let plain = edit(&bench, path, small("x")).await;
        assert!(controlled != plain, "{path}");
    }
}

#[tokio::test]
async fn an_image_that_is_not_expanded_stays_and_a_jpeg_shows_white_for_what_is_transparent() {
    let bench = Bench::new().await;
    let mut image = photo(4, 101, 67);
    for (x, _, pixel) in image.enumerate_pixels_mut() {
        pixel.0[3] = 255 * u8::from(x > 50);
    }
    let mut body = json!({ "image": base64(image.clone()) });
    assert!(edit(&bench, "gen-pro-1.0-expand", body.clone()).await == image);
    body["output_format"] = "jpeg".into();
    let white = edit(&bench, "gen-pro-1.0-expand", body).await.get_pixel(20, 20).0;
    assert!(white.iter().all(|part| *part > 240), "{white:?}");
}

#[tokio::test]
async fn outpainting_has_the_reference_in_the_middle_and_depends_on_the_mode() {
    let bench = Bench::new().await;
    let reference = photo(5, 60, 50);
    let mut body = json!({ "reference": base64(reference.clone()), "width": 200, "height": 140 });
    let high = edit(&bench, "gen-tools/outpainting-v1", body.clone()).await;
    assert!(crop_imm(&high, 70, 45, 60, 50).to_image() == reference);
    body["mode"] = "fast".into();
    assert!(high != edit(&bench, "gen-tools/outpainting-v1", body).await);
}
