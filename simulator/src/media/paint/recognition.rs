//! References and settings are recognisable in a picture.

use image::{DynamicImage, RgbaImage};

use super::{
    picture::{Format, Picture},
    properties::{distance, input, noise, painted, picture},
    render::{pixels, render},
    settings::{FinetuneTint, Guidance, Settings},
};
use crate::{contract::OperationKind, media::images::Input};

/// Large shapes, which stay recognisable when an image is scaled down.
fn shapes(seed: u32) -> RgbaImage {
    let small = noise(5, 5, seed * 2 + 1);
    let small =
        DynamicImage::from(small).resize_exact(160, 160, image::imageops::FilterType::Triangle);
    small.into_rgba8()
}

/// The correlation of the brightness of two images, scaled down: 1 if they are equal, 0 if they are
/// unrelated.
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

/// The rectangle in which two pictures differ, cropped from the first.
fn changed(one: &RgbaImage, other: &RgbaImage) -> RgbaImage {
    let differing =
        one.enumerate_pixels().filter(|(x, y, pixel)| other.get_pixel(*x, *y) != *pixel);
    let (mut left, mut top, mut right, mut bottom) = (u32::MAX, u32::MAX, 0, 0);
    for (x, y, _) in differing {
        (left, top, right, bottom) = (left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1));
    }
    assert!(left < right, "the pictures are equal");
    image::imageops::crop_imm(one, left, top, right - left, bottom - top).to_image()
}

#[test]
fn a_single_reference_is_recognisable() {
    for seed in 0..6 {
        let reference = shapes(seed);
        let inputs = vec![input("input_image", reference.clone())];
        let edited = painted(OperationKind::Create, (320, 320), Settings::default(), inputs);
        let upper = |image: &RgbaImage| {
            image::imageops::crop_imm(image, 0, 0, image.width(), image.height() * 3 / 4).to_image()
        };
        let likeness = likeness(&upper(&edited), &upper(&reference));
        assert!(likeness > 0.9, "{seed}: {likeness}");
        let mut repainted = picture(
            OperationKind::Create,
            (320, 320),
            Settings::default(),
            vec![input("input_image", reference.clone())],
        );
        repainted.seed += 1;
        assert!(pixels(&repainted) != edited, "prompt and seed must change the picture");
    }
}

#[test]
fn every_reference_is_recognisable() {
    for (kind, count) in [
        (OperationKind::Create, 2),
        (OperationKind::Create, 4),
        (OperationKind::Create, 8),
        (OperationKind::TryOn, 5),
    ] {
        let inputs: Vec<_> = (1..=count)
            .map(|number| input(&format!("input_image_{number}"), shapes(number)))
            .collect();
        // The person of a try-on fills the picture.
        let (size, first) = match kind {
            OperationKind::TryOn => ((160, 160), 2),
            _ => ((512, 384), 1),
        };
        let paint = |inputs: &[Input]| painted(kind, size, Settings::default(), inputs.to_vec());
        let whole = paint(&inputs);
        for number in first..=count {
            let reference = shapes(number);
            let mut inverted = DynamicImage::from(reference.clone());
            inverted.invert();
            let mut others = inputs.clone();
            others[number as usize - 1] = input(&inputs[number as usize - 1].place, inverted);
            let likeness = likeness(&changed(&whole, &paint(&others)), &reference);
            assert!(likeness > 0.9, "{kind:?}, {number} of {count}: {likeness}");
        }
    }
}

#[test]
fn settings_change_the_picture() {
    let paint = |settings| painted(OperationKind::Create, (47, 47), settings, vec![]);
    let plain = paint(Settings::default());
    let guided = |value| {
        let guidance = Some(Guidance { value, neutral: 5.0 });
        paint(Settings { guidance, ..Settings::default() })
    };
    let stepped = |steps| paint(Settings { steps: Some(steps), ..Settings::default() });
    let tuned = |name: &str, strength| {
        let finetune = Some(FinetuneTint { name: name.to_owned(), strength });
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
fn pictures_have_the_requested_size_and_format_and_are_reproducible() {
    for format in [Format::Jpeg, Format::Png, Format::Webp] {
        let paint = |prompt: &str, seed| {
            let plain = picture(OperationKind::Create, (96, 64), Settings::default(), Vec::new());
            render(&Picture { prompt: prompt.into(), seed, format, ..plain }).unwrap()
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
