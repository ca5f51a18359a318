//! Properties of all pictures that are made from other images.

use std::{io::Cursor, sync::Arc};

use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgba, RgbaImage};
use proptest::prelude::*;

use super::{
    fit, mask, painting,
    picture::{Format, Picture},
    render::pixels,
    settings::{FinetuneTint, Settings},
};
use crate::{
    contract::OperationKind,
    media::images::{Image, Inline, Input},
};

/// Pictures up to this size have no room for a caption, so that every pixel can be checked.
const UNCAPTIONED: std::ops::Range<u32> = 1..48;

pub(super) fn noise(width: u32, height: u32, seed: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, y| {
        let hash = (x * 7919 + y * 104_729 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9);
        let [a, b, c, _] = hash.to_be_bytes();
        Rgba([a, b, c, 255])
    })
}

pub(super) fn input(place: &str, image: impl Into<DynamicImage>) -> Input {
    let image = image.into();
    let (width, height) = (image.width(), image.height());
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    let bytes: Arc<[u8]> = bytes.into_inner().into();
    Input {
        place: place.to_owned(),
        is_mask: place == "mask",
        image: Image::Inline(Inline { bytes, format: ImageFormat::Png, width, height }),
    }
}

pub(super) fn picture(
    kind: OperationKind,
    size: (u32, u32),
    settings: Settings,
    inputs: Vec<Input>,
) -> Picture {
    Picture {
        operation: "gen-2-pro".to_owned(),
        kind,
        prompt: "a red fox".into(),
        seed: 7,
        settings,
        size,
        format: Format::Png,
        inputs,
        moments: Vec::new(),
    }
}

pub(super) fn painted(
    kind: OperationKind,
    size: (u32, u32),
    settings: Settings,
    inputs: Vec<Input>,
) -> RgbaImage {
    pixels(&picture(kind, size, settings, inputs))
}

pub(super) fn distance(one: &RgbaImage, other: &RgbaImage) -> u64 {
    assert_eq!(one.dimensions(), other.dimensions());
    one.iter().zip(other.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
}

/// The variance of the Laplacian, a measure of sharpness.
fn sharpness(image: &RgbaImage) -> f64 {
    let luma = DynamicImage::from(image.clone()).into_luma8();
    let at = |x: u32, y: u32| f64::from(luma.get_pixel(x, y).0[0]);
    let inner = (1..luma.height() - 1).flat_map(|y| (1..luma.width() - 1).map(move |x| (x, y)));
    let values: Vec<_> = inner
        .map(|(x, y)| at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4.0 * at(x, y))
        .collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64
}

fn any_mask(width: u32, height: u32) -> impl Strategy<Value = GrayImage> {
    prop::collection::vec(
        prop_oneof![3 => Just(0u8), 3 => Just(255), 1 => any::<u8>()],
        (width * height) as usize,
    )
    .prop_map(move |bytes| GrayImage::from_raw(width, height, bytes).unwrap())
}

fn sized() -> impl Strategy<Value = (u32, u32, u32)> {
    (UNCAPTIONED, UNCAPTIONED, any::<u32>())
}

fn sized_mask() -> impl Strategy<Value = ((u32, u32, u32), GrayImage)> {
    sized().prop_flat_map(|size| (Just(size), any_mask(size.0, size.1)))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 48,
        ..ProptestConfig::default()
    })]

    #[test]
    fn fill_keeps_the_black_part_of_the_mask_and_paints_the_white_part(
        ((width, height, seed), mask) in sized_mask(),
    ) {
        let of = |inputs: Vec<Input>| {
            picture(OperationKind::Fill, (width, height), Settings::default(), inputs)
        };
        let image = noise(width, height, seed);
        let fill = |image: &RgbaImage| {
            pixels(&of(vec![input("image", image.clone()), input("mask", mask.clone())]))
        };
        let (filled, elsewhere) = (fill(&image), fill(&noise(width, height, !seed)));
        let bounds = mask::bounds(&mask);
        let painting = painting::within(&of(vec![]), bounds).into_image_with_alpha();
        for (x, y, covered) in mask.enumerate_pixels() {
            let (new, old) = (filled.get_pixel(x, y), image.get_pixel(x, y));
            let painted = painting.get_pixel(x, y);
            match covered.0[0] {
                0 => prop_assert_eq!(new, old),
                255 => prop_assert!(new == painted && new == elsewhere.get_pixel(x, y)),
                _ => for ((new, old), painted) in new.0.iter().zip(old.0).zip(painted.0) {
                    prop_assert!((old.min(painted)..=old.max(painted)).contains(new));
                },
            }
        }
        // The alpha channel can be the mask too; transparent pixels are painted.
        let mut masked = image.clone();
        for (pixel, covered) in masked.pixels_mut().zip(mask.pixels()) {
            pixel.0[3] = 255 - covered.0[0];
        }
        let by_alpha = pixels(&of(vec![input("image", masked)]));
        prop_assert!(by_alpha == filled, "the alpha channel must work like the mask");
    }

    #[test]
    fn erase_keeps_the_uncovered_part_and_ignores_the_covered_part(
        ((width, height, seed), mask) in sized_mask(),
        dilation in 0u32..4,
    ) {
        let image = noise(width, height, seed);
        let covered = mask::dilated(&mask, dilation);
        let erased = |image: &RgbaImage| {
            let settings = Settings { dilation, ..Settings::default() };
            let inputs = vec![input("image", image.clone()), input("mask", mask.clone())];
            painted(OperationKind::Erase, (width, height), settings, inputs)
        };
        let mut other = noise(width, height, !seed);
        for ((other, kept), covered) in other.pixels_mut().zip(image.pixels()).zip(covered.pixels())
        {
            if covered.0[0] == 0 {
                *other = *kept;
            }
        }
        let result = erased(&image);
        prop_assert!(result == erased(&other), "the covered part is still visible");
        for ((new, old), covered) in result.pixels().zip(image.pixels()).zip(covered.pixels()) {
            prop_assert!(covered.0[0] > 0 || new == old);
        }
    }

    #[test]
    fn expand_adds_the_requested_sides_and_keeps_the_image(
        (width, height, seed) in sized(),
        sides in prop::array::uniform4(0u32..40),
        alpha in any::<bool>(),
    ) {
        let [left, right, top, bottom] = sides;
        let mut image = noise(width, height, seed);
        if alpha {
            image.pixels_mut().for_each(|pixel| pixel.0[3] = pixel.0[0]);
        }
        let size = (left + width + right, top + height + bottom);
        let settings = Settings { added: (left.into(), top.into()), ..Settings::default() };
        let inputs = vec![input("image", image.clone())];
        let expanded = painted(OperationKind::Expand, size, settings, inputs);
        prop_assert_eq!(expanded.dimensions(), size);
        let middle = image::imageops::crop_imm(&expanded, left, top, width, height).to_image();
        prop_assert!(middle == image, "the image changed");
    }

    #[test]
    fn outpainting_places_the_reference_at_its_offsets(
        (width, height, seed) in sized(),
        size in (UNCAPTIONED, UNCAPTIONED),
        offset in (-60i64..60, -60i64..60),
    ) {
        let reference = noise(width, height, seed);
        let settings = Settings { offset: (Some(offset.0), Some(offset.1)), ..Settings::default() };
        let inputs = vec![input("reference", reference.clone())];
        let picture = painted(OperationKind::Outpaint, size, settings, inputs);
        prop_assert_eq!(picture.dimensions(), size);
        for (x, y, pixel) in reference.enumerate_pixels() {
            let at = (i64::from(x) + offset.0, i64::from(y) + offset.1);
            if let (Ok(x), Ok(y)) = (u32::try_from(at.0), u32::try_from(at.1)) {
                let placed = picture.get_pixel_checked(x, y);
                prop_assert!(placed.is_none_or(|placed| placed == pixel));
            }
        }
    }

    #[test]
    fn remix_blends_monotonically_from_the_painting_to_the_image_prompt(
        (width, height, seed) in sized(),
        size in (UNCAPTIONED, UNCAPTIONED),
        mut strengths in prop::collection::vec(0.0f32..1.0, 1..5),
    ) {
        let prompt = noise(width, height, seed);
        let mixed = |image_prompt_strength| {
            let settings = Settings { image_prompt_strength, ..Settings::default() };
            let inputs = vec![input("image_prompt", prompt.clone())];
            painted(OperationKind::Create, size, settings, inputs)
        };
        let painting =
            painted(OperationKind::Create, size, Settings::default(), vec![]);
        let covered = fit::cover(&prompt, size.0, size.1);
        prop_assert!(mixed(0.0) == painting);
        prop_assert!(mixed(1.0) == covered);
        strengths.sort_by(f32::total_cmp);
        let pictures: Vec<_> = strengths.into_iter().map(mixed).collect();
        for pair in pictures.windows(2) {
            prop_assert!(distance(&pair[0], &painting) <= distance(&pair[1], &painting));
            prop_assert!(distance(&pair[0], &covered) >= distance(&pair[1], &covered));
        }
    }

    #[test]
    fn deblur_sharpens(
        width in 12u32..48,
        height in 12u32..48,
        seed in any::<u32>(),
        sigma in 0.8f32..3.0,
    ) {
        let blurred = DynamicImage::from(noise(width, height, seed)).fast_blur(sigma).into_rgba8();
        let inputs = vec![input("image", blurred.clone())];
        let size = (width, height);
        let sharp = painted(OperationKind::Deblur, size, Settings::default(), inputs);
        prop_assert_eq!(sharp.dimensions(), size);
        let (before, after) = (sharpness(&blurred), sharpness(&sharp));
        prop_assert!(after > before * 1.5, "{} {}", after, before);
    }
}

#[test]
fn every_kind_renders_every_size() {
    let settings = Settings {
        steps: Some(3),
        raw: true,
        finetune: Some(FinetuneTint { name: "a LoRA".to_owned(), strength: 1.2 }),
        image_prompt_strength: 0.3,
        added: (2, 1),
        offset: (Some(-1), None),
        dilation: 2,
        ..Settings::default()
    };
    for kind in [
        OperationKind::Create,
        OperationKind::Fill,
        OperationKind::Expand,
        OperationKind::Depth,
        OperationKind::Canny,
        OperationKind::Deblur,
        OperationKind::Erase,
        OperationKind::TryOn,
        OperationKind::Outpaint,
    ] {
        for (width, height) in [(1, 1), (1, 97), (97, 1), (2, 3), (65, 33), (130, 211)] {
            let image = noise(width, height, 5);
            let mask = GrayImage::from_pixel(width, height, Luma([255]));
            let only = vec![input("image", image.clone())];
            let masked = vec![only[0].clone(), input("mask", mask)];
            let many =
                (1..=9).map(|number| input(&format!("other.{number}"), image.clone())).collect();
            let elsewhere = Input {
                place: "image".to_owned(),
                is_mask: false,
                image: Image::Elsewhere("example.com".to_owned()),
            };
            for inputs in [vec![], only, masked, many, vec![elsewhere]] {
                let size = match kind {
                    OperationKind::Expand => (width + 3, height + 1),
                    _ => (width, height),
                };
                let painted = painted(kind, size, settings.clone(), inputs);
                assert_eq!(painted.dimensions(), size, "{kind:?}");
            }
        }
    }
}
