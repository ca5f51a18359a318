//! What settings do to a painting: a LoRA's tint, guidance, raw, and how finished it is. Settings
//! that ask for nothing change nothing.

use sha2::{Digest as _, Sha256};

use super::canvas::{Canvas, Colour, WHITE, luma, mix};
use super::noise::speck;
use super::palette::PALETTES;
use super::settings::{Finetune, Guidance, Settings};

/// How far a LoRA colours a picture at its full influence; at twice that, twice as far.
const TINT: f32 = 0.45;

pub(super) fn apply(canvas: &mut Canvas, settings: &Settings) {
    if let Some(finetune) = &settings.finetune {
        tint(canvas, finetune);
    }
    if let Some(guidance) = settings.guidance {
        adhere(canvas, guidance);
    }
    if settings.raw {
        leave_raw(canvas);
    }
    coarsen(canvas, settings.finish());
}

/// Colours the picture in the two hues of the LoRA's name, dark and light.
fn tint(canvas: &mut Canvas, finetune: &Finetune) {
    let share = finetune.strength * TINT;
    if share == 0.0 {
        return;
    }
    let digest: [u8; 32] = Sha256::digest(finetune.name.as_bytes()).into();
    let [first, second, ..] = digest;
    let (dark, light) = hues(first, second);
    canvas.change(|_, _, colour| mix(colour, mix(dark, light, luma(colour)), share));
}

fn hues(first: u8, second: u8) -> (Colour, Colour) {
    let palette = |number: u8| &PALETTES[usize::from(number) % PALETTES.len()];
    (
        mix(palette(first).zenith, palette(first).near, 0.5),
        mix(palette(second).horizon, WHITE, 0.25),
    )
}

/// The more guidance, the stronger colours and contrasts: closer to the prompt, and less like a
/// photograph.
fn adhere(canvas: &mut Canvas, guidance: Guidance) {
    let gain = 0.6 + 0.4 * (guidance.value / guidance.neutral).clamp(0.0, 3.0);
    if guidance.value == guidance.neutral {
        return;
    }
    canvas.change(|_, _, colour| {
        let grey = luma(colour);
        colour.map(|part| {
            let saturated = grey + (part - grey) * gain;
            0.5 + (saturated - 0.5) * (0.5 + 0.5 * gain)
        })
    });
}

/// Muted colours, lifted shadows and grain, as from a camera.
fn leave_raw(canvas: &mut Canvas) {
    canvas.change(|x, y, colour| {
        let grey = luma(colour);
        let grain = (speck(x as u64, y as u64) - 0.5) * 0.07;
        colour.map(|part| 0.06 + (grey + (part - grey) * 0.6) * 0.86 + grain)
    });
}

/// An unfinished picture is seen in squares, which are the larger the less was done.
fn coarsen(canvas: &mut Canvas, finish: f32) {
    let largest = (canvas.short() * 0.03).max(3.0);
    let side = 1 + ((1.0 - finish) * largest) as usize;
    if side == 1 {
        return;
    }
    let (width, height) = (canvas.width, canvas.height);
    for top in (0..height).step_by(side) {
        for left in (0..width).step_by(side) {
            let (bottom, right) = ((top + side).min(height), (left + side).min(width));
            let mut sum = [0.0; 3];
            for y in top..bottom {
                for pixel in canvas.row(y).get(left..right).unwrap_or_default() {
                    sum = [sum[0] + pixel[0], sum[1] + pixel[1], sum[2] + pixel[2]];
                }
            }
            let mean = sum.map(|part| part / ((bottom - top) * (right - left)) as f32);
            for y in top..bottom {
                canvas.row_mut(y).get_mut(left..right).unwrap_or_default().fill(mean);
            }
        }
    }
}
