//! What holds for every image and mask: which pixels an edit keeps, and which it replaces.

use image::{DynamicImage, GrayImage, Luma, Rgba, RgbaImage, imageops::crop_imm};
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, TestCaseError, TestRunner},
};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::{
    bench::{Bench, base64},
    pictures_edit::{edges, edit},
};

const SIDES: std::ops::Range<u32> = 1..48;

type Law = Result<(), TestCaseError>;

fn check<S: Strategy>(strategy: S, law: impl AsyncFn(&Bench, S::Value) -> Law) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let bench = runtime.block_on(Bench::new());
    let config = Config { failure_persistence: None, cases: 48, ..Config::default() };
    TestRunner::new(config).run(&strategy, |value| runtime.block_on(law(&bench, value))).unwrap();
}

fn noise(width: u32, height: u32, seed: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, y| {
        let hash = (x * 7919 + y * 104_729 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9);
        let [a, b, c, _] = hash.to_be_bytes();
        Rgba([a, b, c, 255])
    })
}

fn any_image() -> impl Strategy<Value = RgbaImage> {
    (SIDES, SIDES, any::<u32>()).prop_map(|(width, height, seed)| noise(width, height, seed))
}

/// An image, another of the same size, and a mask for both.
fn masked() -> impl Strategy<Value = (RgbaImage, RgbaImage, GrayImage)> {
    any_image().prop_flat_map(|image| {
        let (width, height) = image.dimensions();
        let grey = prop_oneof![3 => Just(0u8), 3 => Just(255), 1 => any::<u8>()];
        let mask = prop::collection::vec(grey, (width * height) as usize)
            .prop_map(move |bytes| GrayImage::from_raw(width, height, bytes).unwrap());
        let other = any::<u32>().prop_map(move |seed| noise(width, height, seed));
        (Just(image), other, mask)
    })
}

fn lossless_format() -> impl Strategy<Value = &'static str> {
    select(vec!["png", "webp"])
}

/// The smallest rectangle that contains what is not black, in white.
fn bounds(mask: &GrayImage) -> GrayImage {
    let covered = mask.enumerate_pixels().filter(|(_, _, pixel)| pixel.0[0] > 0);
    let (xs, ys): (Vec<_>, Vec<_>) = covered.map(|(x, y, _)| (x, y)).unzip();
    let is_within =
        |at: u32, all: &[u32]| all.iter().min() <= Some(&at) && Some(&at) <= all.iter().max();
    GrayImage::from_fn(mask.width(), mask.height(), |x, y| {
        Luma([255 * u8::from(is_within(x, &xs) && is_within(y, &ys))])
    })
}

#[test]
fn fill_keeps_the_black_part_of_the_mask_and_paints_the_white_part() {
    let prompt = select(vec!["a red fox", "a storm over the sea", "a door", "snow", ""]);
    let strategy = (masked(), prompt, lossless_format(), any::<bool>());
    check(strategy, async |bench, ((image, other, mask), prompt, format, is_finetuned)| {
        let fill = async |image: &RgbaImage, mask: Option<&GrayImage>| {
            let image = base64(image.clone());
            let mut body = json!({ "image": image, "prompt": prompt, "output_format": format });
            if let Some(mask) = mask {
                body["mask"] = base64(mask.clone()).into();
            }
            if !is_finetuned {
                return edit(bench, "gen-pro-1.0-fill", body).await;
            }
            body["finetune_id"] = "fox-style".into();
            edit(bench, "gen-pro-1.0-fill-finetuned", body).await
        };
        let filled = fill(&image, Some(&mask)).await;
        let painting = fill(&other, Some(&bounds(&mask))).await;
        for (x, y, covered) in mask.enumerate_pixels() {
            let (new, old) = (filled.get_pixel(x, y), image.get_pixel(x, y));
            let painted = painting.get_pixel(x, y);
            match covered.0[0] {
                0 => prop_assert_eq!(new, old),
                255 => prop_assert_eq!(new, painted),
                _ => {
                    for ((new, old), painted) in new.0.iter().zip(old.0).zip(painted.0) {
                        prop_assert!((old.min(painted)..=old.max(painted)).contains(new));
                    }
                }
            }
        }
        // The alpha channel can be the mask too; transparent pixels are painted.
        let mut transparent = image.clone();
        for (pixel, covered) in transparent.pixels_mut().zip(mask.pixels()) {
            pixel.0[3] = 255 - covered.0[0];
        }
        prop_assert!(fill(&transparent, None).await == filled, "alpha must work like the mask");
        prop_assert!(fill(&image, None).await == image, "there is nothing to fill");
        Ok(())
    });
}

#[test]
fn erase_keeps_the_uncovered_part_and_ignores_the_covered_part() {
    let strategy = (masked(), 0u32..4, lossless_format());
    check(strategy, async |bench, ((image, other, mask), dilation, format)| {
        let mut covered = GrayImage::new(mask.width(), mask.height());
        for (x, y, _) in mask.enumerate_pixels().filter(|(_, _, pixel)| pixel.0[0] > 127) {
            let near =
                |at: u32, end: u32| at.saturating_sub(dilation)..(at + dilation + 1).min(end);
            for row in near(y, mask.height()) {
                near(x, mask.width()).for_each(|column| covered.put_pixel(column, row, Luma([1])));
            }
        }
        let is_covered = |x: u32, y: u32| covered.get_pixel(x, y).0[0] == 1;
        let erase = async |image: &RgbaImage| {
            let (image, mask) = (base64(image.clone()), base64(mask.clone()));
            let dilation = (dilation > 0).then_some(dilation);
            let body = json!({ "image": image, "mask": mask, "dilation": dilation,
                "output_format": format });
            edit(bench, "gen-tools/erase-v1", body).await
        };
        let elsewhere = RgbaImage::from_fn(image.width(), image.height(), |x, y| {
            *if is_covered(x, y) { &other } else { &image }.get_pixel(x, y)
        });
        let erased = erase(&image).await;
        prop_assert!(erased == erase(&elsewhere).await, "the covered part is still visible");
        let kept: Vec<_> =
            image.enumerate_pixels().filter(|(x, y, _)| !is_covered(*x, *y)).collect();
        for (x, y, pixel) in erased.enumerate_pixels() {
            prop_assert!(is_covered(x, y) || pixel == image.get_pixel(x, y), "{} {}", x, y);
            for (part, value) in pixel.0.into_iter().enumerate() {
                let known = || kept.iter().map(|(.., pixel)| pixel.0[part]);
                let grey = if part == 3 { 255 } else { 128 };
                let range = known().min().unwrap_or(grey)..=known().max().unwrap_or(grey);
                prop_assert!(range.contains(&value), "{} is not in {:?}", value, range);
            }
        }
        Ok(())
    });
}

#[test]
fn expand_adds_the_requested_sides_and_keeps_the_image() {
    let sides = prop::array::uniform4(0u32..40);
    let strategy = (any_image(), sides, any::<bool>(), lossless_format());
    check(strategy, async |bench, (mut image, [left, right, top, bottom], alpha, format)| {
        if alpha {
            image.pixels_mut().for_each(|pixel| pixel.0[3] = pixel.0[0]);
        }
        let (width, height) = image.dimensions();
        let body = json!({ "image": base64(image.clone()), "left": left, "right": right,
            "top": top, "bottom": bottom, "output_format": format });
        let expanded = edit(bench, "gen-pro-1.0-expand", body).await;
        prop_assert_eq!(expanded.dimensions(), (left + width + right, top + height + bottom));
        prop_assert!(crop_imm(&expanded, left, top, width, height).to_image() == image);
        Ok(())
    });
}

#[test]
fn outpainting_places_the_reference_at_its_offsets() {
    let strategy = (any_image(), 1i64..200, 1i64..200, any::<(i64, i64)>());
    check(strategy, async |bench, (reference, width, height, (x, y))| {
        // A part of the reference is visible.
        let left = x.rem_euclid(width + i64::from(reference.width()) - 1);
        let top = y.rem_euclid(height + i64::from(reference.height()) - 1);
        let (left, top) =
            (left + 1 - i64::from(reference.width()), top + 1 - i64::from(reference.height()));
        let body = json!({ "reference": base64(reference.clone()), "width": width,
            "height": height, "reference_offset_x": left, "reference_offset_y": top });
        let picture = edit(bench, "gen-tools/outpainting-v1", body).await;
        prop_assert_eq!(picture.dimensions(), (width as u32, height as u32));
        for (x, y, pixel) in reference.enumerate_pixels() {
            if let (Ok(x), Ok(y)) =
                (u32::try_from(i64::from(x) + left), u32::try_from(i64::from(y) + top))
            {
                let placed = picture.get_pixel_checked(x, y);
                prop_assert!(placed.is_none_or(|placed| placed == pixel));
            }
        }
        Ok(())
    });
}

#[test]
fn deblur_sharpens_every_image() {
    let strategy = (12u32..48, 12u32..48, any::<u32>(), 0.8f32..3.0);
    check(strategy, async |bench, (width, height, seed, sigma)| {
        let sharp = DynamicImage::from(noise(width, height, seed));
        let blurred = sharp.fast_blur(sigma).into_rgba8();
        let body = json!({ "image": base64(blurred.clone()) });
        let sharpened = edit(bench, "gen-tools/deblur-v1", body).await;
        prop_assert_eq!(sharpened.dimensions(), (width, height));
        prop_assert!(edges(&sharpened) > 2 * edges(&blurred));
        Ok(())
    });
}

#[tokio::test]
async fn images_of_every_size_can_be_edited() {
    let bench = Bench::new().await;
    for (width, height) in [(1, 1), (1, 97), (97, 1), (2, 3), (65, 33), (130, 211)] {
        let image = base64(noise(width, height, 5));
        let mask = base64(GrayImage::from_pixel(width, height, Luma([255])));
        let url = json!("https://example.com/image.png");
        for (path, body) in [
            ("gen-2-pro", json!({ "prompt": "x", "input_image": image })),
            ("gen-2-pro", json!({ "prompt": "x", "input_image": image, "input_image_2": url })),
            ("gen-kontext-pro", json!({ "prompt": "x", "input_image": image })),
            ("gen-pro-1.0-fill", json!({ "image": image })),
            ("gen-pro-1.0-fill", json!({ "image": image, "mask": mask, "steps": 15 })),
            ("gen-pro-1.0-expand", json!({ "image": image, "top": 1, "right": 3 })),
            ("gen-pro-1.0-canny", json!({ "prompt": "x", "control_image": image })),
            ("gen-pro-1.0-depth", json!({ "prompt": "x", "control_image": image })),
            ("gen-tools/deblur-v1", json!({ "image": image })),
            ("gen-tools/erase-v1", json!({ "image": image })),
            ("gen-tools/erase-v1", json!({ "image": image, "mask": mask, "dilation": 2 })),
            ("gen-tools/vto-v1", json!({ "person": image })),
            ("gen-tools/vto-v1", json!({ "person": image, "garment": image })),
            ("gen-tools/vto-v2", json!({ "person": image, "garments": [image, url, image] })),
            ("gen-tools/outpainting-v1", json!({ "reference": image })),
            (
                "gen-tools/outpainting-v1",
                json!({ "reference": image, "width": 1, "height": 2,
                "reference_offset_x": 0, "reference_offset_y": 1 }),
            ),
        ] {
            let picture: Value = bench.submit(&format!("/v1/{path}"), &body).await;
            let response = bench.fetch(&bench.sample(&picture).await).await;
            assert_eq!(response.status, 200, "{path} of {width} x {height}");
        }
    }
}
