//! What holds for every picture that is worked from others.

use std::io::Cursor;
use std::sync::Arc;

use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgba, RgbaImage};
use proptest::prelude::*;

use super::*;
use crate::validation::Inline;

/// Pictures up to this size have no room for a caption, so that every pixel is under the law.
const UNCAPTIONED: std::ops::Range<u32> = 1..48;

fn noise(width: u32, height: u32, seed: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, y| {
        let hash = (x * 7919 + y * 104_729 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9);
        let [a, b, c, _] = hash.to_be_bytes();
        Rgba([a, b, c, 255])
    })
}

/// Large shapes: what is recognised when an image is made smaller.
fn shapes(seed: u32) -> RgbaImage {
    let small = noise(5, 5, seed * 2 + 1);
    let small =
        DynamicImage::from(small).resize_exact(160, 160, image::imageops::FilterType::Triangle);
    small.into_rgba8()
}

fn input(place: &str, image: impl Into<DynamicImage>) -> Input {
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

fn picture(operation: &str, size: (u32, u32), settings: Settings, inputs: Vec<Input>) -> Picture {
    let (operation, prompt) = (operation.to_owned(), "a red fox".to_owned());
    Picture::new(Brief { operation, prompt, seed: 7, settings, size, format: Format::Png, inputs })
}

fn distance(one: &RgbaImage, other: &RgbaImage) -> u64 {
    assert_eq!(one.dimensions(), other.dimensions());
    one.iter().zip(other.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
}

/// How alike two images are in their brightness, when both are made small: 1 for the same, 0 for
/// unrelated ones.
fn likeness(one: &RgbaImage, other: &RgbaImage) -> f64 {
    let small = |image: &RgbaImage| {
        let luma = DynamicImage::from(image.clone()).thumbnail_exact(12, 12).into_luma8();
        luma.iter().map(|part| f64::from(*part)).collect::<Vec<_>>()
    };
    let centred = |values: Vec<f64>| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.into_iter().map(|value| value - mean).collect::<Vec<_>>()
    };
    let (one, other) = (centred(small(one)), centred(small(other)));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt()
}

/// The variance of the Laplacian: the measure of sharpness.
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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn fill_keeps_what_is_black_and_paints_what_is_white(
        ((width, height, seed), mask) in sized().prop_flat_map(|size| (Just(size), any_mask(size.0, size.1))),
    ) {
        let image = noise(width, height, seed);
        let paint = |image: &RgbaImage| {
            let inputs = vec![input("image", image.clone()), input("mask", mask.clone())];
            picture("gen-pro-1.0-fill", (width, height), Settings::default(), inputs).pixels()
        };
        let (filled, elsewhere) = (paint(&image), paint(&noise(width, height, !seed)));
        let painting = picture("gen-pro-1.0-fill", (width, height), Settings::default(), vec![])
            .painting().into_image_with_alpha();
        for (x, y, covered) in mask.enumerate_pixels() {
            let (new, old, painted) = (filled.get_pixel(x, y), image.get_pixel(x, y), painting.get_pixel(x, y));
            match covered.0[0] {
                0 => prop_assert_eq!(new, old),
                255 => prop_assert!(new == painted && new == elsewhere.get_pixel(x, y)),
                _ => for ((new, old), painted) in new.0.iter().zip(old.0).zip(painted.0) {
                    prop_assert!((old.min(painted)..=old.max(painted)).contains(new));
                },
            }
        }
        // The same by the alpha channel, where transparent means paint.
        let mut carrying = image.clone();
        carrying.pixels_mut().zip(mask.pixels()).for_each(|(pixel, covered)| pixel.0[3] = 255 - covered.0[0]);
        let inputs = vec![input("image", carrying)];
        let by_alpha = picture("gen-pro-1.0-fill", (width, height), Settings::default(), inputs).pixels();
        prop_assert!(by_alpha == filled, "the alpha channel does as the mask");
    }

    #[test]
    fn erase_keeps_what_is_not_covered_and_forgets_what_is(
        ((width, height, seed), mask) in sized().prop_flat_map(|size| (Just(size), any_mask(size.0, size.1))),
        dilation in 0u32..4,
    ) {
        let image = noise(width, height, seed);
        let covered = mask::dilated(&mask, dilation);
        let erased = |image: &RgbaImage| {
            let settings = Settings { dilation, ..Settings::default() };
            let inputs = vec![input("image", image.clone()), input("mask", mask.clone())];
            picture("gen-tools/erase-v1", (width, height), settings, inputs).pixels()
        };
        let mut other = noise(width, height, !seed);
        for ((other, kept), covered) in other.pixels_mut().zip(image.pixels()).zip(covered.pixels()) {
            if covered.0[0] == 0 { *other = *kept; }
        }
        let result = erased(&image);
        prop_assert!(result == erased(&other), "what is erased shows");
        for ((new, old), covered) in result.pixels().zip(image.pixels()).zip(covered.pixels()) {
            prop_assert!(covered.0[0] > 0 || new == old);
        }
    }

    #[test]
    fn expand_adds_what_is_asked_and_keeps_the_middle(
        (width, height, seed) in sized(), sides in prop::array::uniform4(0u32..40), alpha in any::<bool>(),
    ) {
        let [left, right, top, bottom] = sides;
        let mut image = noise(width, height, seed);
        if alpha {
            image.pixels_mut().for_each(|pixel| pixel.0[3] = pixel.0[0]);
        }
        let size = (left + width + right, top + height + bottom);
        let settings = Settings { added: (left.into(), top.into()), ..Settings::default() };
        let expanded = picture("gen-pro-1.0-expand", size, settings, vec![input("image", image.clone())]).pixels();
        prop_assert_eq!(expanded.dimensions(), size);
        let middle = image::imageops::crop_imm(&expanded, left, top, width, height).to_image();
        prop_assert!(middle == image, "the middle changed");
    }

    #[test]
    fn outpainting_places_the_reference_at_its_offsets(
        (width, height, seed) in sized(), size in (UNCAPTIONED, UNCAPTIONED), offset in (-60i64..60, -60i64..60),
    ) {
        let reference = noise(width, height, seed);
        let settings = Settings { offset: (Some(offset.0), Some(offset.1)), ..Settings::default() };
        let inputs = vec![input("reference", reference.clone())];
        let picture = picture("gen-tools/outpainting-v1", size, settings, inputs).pixels();
        prop_assert_eq!(picture.dimensions(), size);
        for (x, y, pixel) in reference.enumerate_pixels() {
            let at = (i64::from(x) + offset.0, i64::from(y) + offset.1);
            if let (Ok(x), Ok(y)) = (u32::try_from(at.0), u32::try_from(at.1)) {
                prop_assert!(picture.get_pixel_checked(x, y).is_none_or(|placed| placed == pixel));
            }
        }
    }

    #[test]
    fn remix_goes_from_the_painting_to_the_image_prompt_and_never_back(
        (width, height, seed) in sized(), size in (UNCAPTIONED, UNCAPTIONED),
        mut strengths in prop::collection::vec(0.0f32..1.0, 1..5),
    ) {
        let prompt = noise(width, height, seed);
        let mixed = |image_prompt_strength| {
            let settings = Settings { image_prompt_strength, ..Settings::default() };
            picture("gen-pro-1.1-ultra", size, settings, vec![input("image_prompt", prompt.clone())]).pixels()
        };
        let painting = picture("gen-pro-1.1-ultra", size, Settings::default(), vec![]).pixels();
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
    fn deblur_sharpens(width in 12u32..48, height in 12u32..48, seed in any::<u32>(), sigma in 0.8f32..3.0) {
        let blurred = DynamicImage::from(noise(width, height, seed)).fast_blur(sigma).into_rgba8();
        let inputs = vec![input("image", blurred.clone())];
        let sharp = picture("gen-tools/deblur-v1", (width, height), Settings::default(), inputs).pixels();
        prop_assert_eq!(sharp.dimensions(), (width, height));
        prop_assert!(sharpness(&sharp) > sharpness(&blurred) * 1.5, "{} {}", sharpness(&sharp), sharpness(&blurred));
    }
}

#[test]
fn every_operation_paints_every_size() {
    let settings = Settings {
        steps: Some(3),
        raw: true,
        finetune: Some(settings::Finetune { name: "a LoRA".to_owned(), strength: 1.2 }),
        image_prompt_strength: 0.3,
        added: (2, 1),
        offset: (Some(-1), None),
        dilation: 2,
        ..Settings::default()
    };
    for operation in [
        "gen-2-pro",
        "gen-pro-1.0-fill",
        "gen-pro-1.0-expand",
        "gen-pro-1.0-depth",
        "gen-pro-1.0-canny",
        "gen-tools/deblur-v1",
        "gen-tools/erase-v1",
        "gen-tools/vto-v1",
        "gen-tools/outpainting-v1",
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
                let size = match operation {
                    "gen-pro-1.0-expand" => (width + 3, height + 1),
                    _ => (width, height),
                };
                let painted = picture(operation, size, settings.clone(), inputs).pixels();
                assert_eq!(painted.dimensions(), size, "{operation}");
            }
        }
    }
}

/// Where two pictures differ.
fn changed(one: &RgbaImage, other: &RgbaImage) -> RgbaImage {
    let differing =
        one.enumerate_pixels().filter(|(x, y, pixel)| other.get_pixel(*x, *y) != *pixel);
    let (mut left, mut top, mut right, mut bottom) = (u32::MAX, u32::MAX, 0, 0);
    for (x, y, _) in differing {
        (left, top, right, bottom) = (left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1));
    }
    assert!(left < right, "nothing differs");
    image::imageops::crop_imm(one, left, top, right - left, bottom - top).to_image()
}

#[test]
fn one_reference_is_recognised_in_the_whole_picture() {
    for seed in 0..6 {
        let reference = shapes(seed);
        let inputs = vec![input("input_image", reference.clone())];
        let edited = picture("gen-2-pro", (320, 320), Settings::default(), inputs).pixels();
        let upper = |image: &RgbaImage| {
            image::imageops::crop_imm(image, 0, 0, image.width(), image.height() * 3 / 4).to_image()
        };
        let likeness = likeness(&upper(&edited), &upper(&reference));
        assert!(likeness > 0.9, "{seed}: {likeness}");
        let mut repainted = picture(
            "gen-2-pro",
            (320, 320),
            Settings::default(),
            vec![input("input_image", reference.clone())],
        );
        repainted.key[0] ^= 1;
        assert!(repainted.pixels() != edited, "prompt and seed show as well");
    }
}

#[test]
fn every_reference_is_recognised() {
    for (operation, count) in
        [("gen-2-pro", 2), ("gen-kontext-pro", 4), ("gen-2-pro", 8), ("gen-tools/vto-v1", 5)]
    {
        let inputs: Vec<_> = (1..=count)
            .map(|number| input(&format!("input_image_{number}"), shapes(number)))
            .collect();
        let size = if operation.contains("vto") { (160, 160) } else { (512, 384) };
        let paint = |inputs: &[Input]| {
            picture(operation, size, Settings::default(), inputs.to_vec()).pixels()
        };
        let whole = paint(&inputs);
        // The person of a try-on is the whole picture.
        let first = if operation.contains("vto") { 2 } else { 1 };
        for number in first..=count {
            let reference = shapes(number);
            let mut inverted = DynamicImage::from(reference.clone());
            inverted.invert();
            let mut others = inputs.clone();
            others[number as usize - 1] = input(&inputs[number as usize - 1].place, inverted);
            let likeness = likeness(&changed(&whole, &paint(&others)), &reference);
            assert!(likeness > 0.9, "{operation}, {number} of {count}: {likeness}");
        }
    }
}

#[test]
fn settings_show_in_the_picture() {
    let paint = |settings| picture("gen-2-flex", (47, 47), settings, vec![]).pixels();
    let plain = paint(Settings::default());
    let guided = |value| {
        let guidance = Some(settings::Guidance { value, neutral: 5.0 });
        paint(Settings { guidance, ..Settings::default() })
    };
    let stepped = |steps| paint(Settings { steps: Some(steps), ..Settings::default() });
    let tuned = |name: &str, strength| {
        let finetune = Some(settings::Finetune { name: name.to_owned(), strength });
        paint(Settings { finetune, ..Settings::default() })
    };
    assert!(guided(5.0) == plain);
    assert!(stepped(50) == plain);
    assert!(tuned("kiln", 0.0) == plain);

    let spread = |image: &RgbaImage| {
        let values = || image.pixels().flat_map(|pixel| pixel.0).map(f64::from);
        let mean = values().sum::<f64>() / values().count() as f64;
        values().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    assert!(spread(&guided(1.5)) < spread(&plain) && spread(&plain) < spread(&guided(10.0)));
    assert!(spread(&paint(Settings { raw: true, ..Settings::default() })) < spread(&plain));
    let like = |image: &RgbaImage| distance(image, &plain);
    assert!(like(&stepped(1)) > like(&stepped(25)) && like(&stepped(25)) > 0);
    assert!(like(&tuned("kiln", 1.0)) > 0 && like(&tuned("kiln", 2.0)) > like(&tuned("kiln", 1.0)));
    assert!(tuned("kiln", 1.0) != tuned("clay", 1.0));
}

#[test]
fn the_size_and_kind_are_as_asked_and_the_bytes_always_the_same() {
    for format in [Format::Jpeg, Format::Png, Format::Webp] {
        let paint = |prompt: &str, seed| {
            let (operation, prompt) = ("gen-2-pro".to_owned(), prompt.to_owned());
            let (settings, size) = (Settings::default(), (96, 64));
            let brief = Brief { operation, prompt, seed, settings, size, format, inputs: vec![] };
            Picture::new(brief).paint().unwrap()
        };
        let bytes = paint("fox", 7);
        assert!(bytes == paint("fox", 7));
        assert!(bytes != paint("fox", 8));
        assert!(bytes != paint("hen", 7));
        let decoded = image::load_from_memory(&bytes).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (96, 64));
        let mime = image::guess_format(&bytes).unwrap().to_mime_type();
        assert_eq!(mime, format.media_type());
    }
}
