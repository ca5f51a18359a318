//! Clouds.

use super::{
    super::{
        canvas::{Canvas, Colour, mix},
        noise::{Draw, cloud},
        tables::Sight,
    },
    setting::Setting,
};

/// Clouds are computed for squares of this many pixels and interpolated in between.
const GRID: usize = 8;

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let (palette, scene) = (&setting.palette, setting.scene);
    let (seed, cover) = (draw.next(), draw.between(0.5, 0.64));
    let is_dull = [Sight::Clouds, Sight::Rain, Sight::Storm].iter().any(|sight| scene.has(*sight));
    let cover = if is_dull { cover - 0.16 } else { cover };
    let strength = if setting.is_night() { 0.2 } else { 0.75 };
    let mut colour = mix(palette.light, palette.horizon, 0.35);
    if scene.has(Sight::Storm) {
        colour = mix(colour, palette.zenith, 0.8).map(|part| part * 0.7);
    } else if scene.has(Sight::Rain) {
        colour = mix(colour, palette.zenith, 0.55);
    }
    // Valleys reach below the skyline.
    let lower = ((setting.skyline * 1.2) as usize).min(canvas.height);
    haze(canvas, seed, lower, (colour, strength), 2.6, |thick| (thick - cover) * 4.5);
}

/// Blends a colour over the upper rows, by noise that is drawn out by `stretch` across.
pub(super) fn haze(
    canvas: &mut Canvas,
    seed: u64,
    rows: usize,
    (colour, strength): (Colour, f32),
    stretch: f32,
    thickness: impl Fn(f32) -> f32,
) {
    let scale = 3.2 / canvas.short();
    let columns = canvas.width / GRID + 2;
    let grid: Vec<f32> = (0..(rows / GRID + 2) * columns)
        .map(|index| {
            let (x, y) = ((index % columns * GRID) as f32, (index / columns * GRID) as f32);
            thickness(cloud(seed, x * scale, y * scale * stretch, 4)).clamp(0.0, 1.0)
        })
        .collect();
    for y in 0..rows {
        let (row, down) = (y / GRID, (y % GRID) as f32 / GRID as f32);
        let line = |row: usize| grid.get(row * columns..(row + 1) * columns).unwrap_or_default();
        let edge: Vec<f32> =
            line(row).iter().zip(line(row + 1)).map(|(a, b)| a + (b - a) * down).collect();
        if edge.iter().all(|thick| *thick == 0.0) {
            continue;
        }
        for (pixels, pair) in canvas.row_mut(y).chunks_mut(GRID).zip(edge.windows(2)) {
            let (left, slope) = (pair[0] * strength, (pair[1] - pair[0]) * strength / GRID as f32);
            if left == 0.0 && slope == 0.0 {
                continue;
            }
            for (across, pixel) in pixels.iter_mut().enumerate() {
                *pixel = mix(*pixel, colour, left + slope * across as f32);
            }
        }
    }
}
