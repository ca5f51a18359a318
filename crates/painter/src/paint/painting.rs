//! The painting of a picture: what its prompt describes, with the effects of its settings.

use sha2::{Digest as _, Sha256};

use super::{
    canvas::{Canvas, WHITE, luma, mix},
    caption, landscape,
    noise::speck,
    palette::PALETTES,
    picture::{FinetuneTint, Guidance, Picture, Settings},
    reader,
};

/// The painting, with room for a caption.
pub(super) fn of(picture: &Picture) -> Canvas {
    paint(picture, picture.size, caption::floor)
}

/// The painting for a part of the picture, without a caption.
pub(super) fn part(picture: &Picture, size: (u32, u32)) -> Canvas {
    paint(picture, size, |canvas| canvas.height as f32)
}

fn paint(picture: &Picture, size: (u32, u32), floor: impl Fn(&Canvas) -> f32) -> Canvas {
    let mut canvas = Canvas::new(size);
    let floor = floor(&canvas);
    landscape::paint(&mut canvas, &reader::read(&picture.prompt), &picture.key(), floor);
    apply_settings(&mut canvas, &picture.settings);
    canvas
}

/// How far a LoRA colours a picture at strength 1.
const TINT: f32 = 0.45;

/// The effects of settings on a painting: a LoRA's tint, guidance, raw, and how finished it is.
/// Default settings have no effect.
pub(super) fn apply_settings(canvas: &mut Canvas, settings: &Settings) {
    if let Some(finetune) = &settings.finetune {
        tint(canvas, finetune);
    }
    if let Some(guidance) = settings.guidance
        && guidance.value != guidance.neutral
    {
        adhere(canvas, guidance);
    }
    if settings.raw {
        leave_raw(canvas);
    }
    add_noise(canvas, settings.finish());
}

/// Colours the picture in two hues, dark and light, that depend on the LoRA's name.
fn tint(canvas: &mut Canvas, finetune: &FinetuneTint) {
    let share = finetune.strength * TINT;
    let digest: [u8; 32] = Sha256::digest(finetune.name.as_bytes()).into();
    let palette = |number: u8| &PALETTES[usize::from(number) % PALETTES.len()];
    let (first, second) = (palette(digest[0]), palette(digest[1]));
    let dark = mix(first.zenith, first.near, 0.5);
    let light = mix(second.horizon, WHITE, 0.25);
    canvas.change(|_, _, colour| mix(colour, mix(dark, light, luma(colour)), share));
}

/// More guidance strengthens colours and contrast.
fn adhere(canvas: &mut Canvas, guidance: Guidance) {
    let gain = 0.6 + 0.4 * (guidance.value / guidance.neutral).clamp(0.0, 3.0);
    canvas.change(|_, _, colour| {
        let grey = luma(colour);
        colour.map(|part| {
            let saturated = grey + (part - grey) * gain;
            0.5 + (saturated - 0.5) * (0.5 + 0.5 * gain)
        })
    });
}

/// Muted colours, lifted shadows and grain, like a camera image.
fn leave_raw(canvas: &mut Canvas) {
    canvas.change(|x, y, colour| {
        let grey = luma(colour);
        let grain = (speck(x as u64, y as u64) - 0.5) * 0.07;
        colour.map(|part| 0.06 + (grey + (part - grey) * 0.6) * 0.86 + grain)
    });
}

/// Makes an unfinished picture noisy: the fewer steps, the more.
fn add_noise(canvas: &mut Canvas, finish: f32) {
    let missing = 1.0 - finish;
    if missing <= 0.0 {
        return;
    }
    let noise = 0.9 * missing.powi(6);
    let grain = (canvas.short() as u64 / 340).max(1);
    canvas.change(|x, y, colour| {
        let (x, y) = (x as u64 / grain, y as u64 / grain);
        let static_noise = [0, 1, 2].map(|part| speck(x * 3 + part, y));
        mix(colour, static_noise, noise)
    });
}
