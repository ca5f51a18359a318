//! What several parts of a painting are painted with: light, ellipses, shapes, haze, and areas
//! below an edge.

use super::super::{
    canvas::{Canvas, Colour, mix},
    noise::cloud,
    shapes::Shape,
    silhouette::{Light, Silhouette},
};

/// A haze is computed for squares of this many pixels and interpolated in between.
const GRID: usize = 8;

/// Adds light around a point, which fades with the distance.
pub(super) fn glow(canvas: &mut Canvas, at: (f32, f32), reach: f32, colour: Colour, strength: f32) {
    let rows = (at.1 - reach).max(0.0) as usize..((at.1 + reach).max(0.0) as usize);
    let width = canvas.width;
    for y in rows.start..rows.end.min(canvas.height) {
        let dy = y as f32 + 0.5 - at.1;
        let half = (reach * reach - dy * dy).max(0.0).sqrt();
        let end = ((at.0 + half).max(0.0) as usize).min(width);
        let start = ((at.0 - half).max(0.0) as usize).min(end);
        let row = canvas.row_mut(y).get_mut(start..end).unwrap_or_default();
        let mut dx = start as f32 + 0.5 - at.0;
        for pixel in row {
            let near = (1.0 - (dx * dx + dy * dy) / (reach * reach)).max(0.0);
            *pixel = mix(*pixel, colour, near * near * near * strength);
            dx += 1.0;
        }
    }
}

/// Paints a disc.
pub(super) fn disc(canvas: &mut Canvas, at: (f32, f32), radius: f32, colour: Colour, share: f32) {
    oval(canvas, at, (radius, radius), colour, share);
}

/// Paints an ellipse.
pub(super) fn oval(
    canvas: &mut Canvas,
    at: (f32, f32),
    (across, down): (f32, f32),
    colour: Colour,
    share: f32,
) {
    for y in (at.1 - down).floor() as i64..=(at.1 + down).ceil() as i64 {
        let dy = (y as f32 + 0.5 - at.1) / down.max(0.01);
        let half = (1.0 - dy * dy).max(0.0).sqrt() * across;
        canvas.blend_span(y, at.0 - half, at.0 + half, colour, share);
    }
}

/// Paints a shape that no word names, with the middle of its foot at `at`. Returns its width.
pub(super) fn shape(
    canvas: &mut Canvas,
    name: &str,
    colour: Colour,
    at: (f32, f32),
    tall: f32,
    light: Light,
) -> f32 {
    let Some(shape) = Shape::named(name) else { return tall };
    Silhouette { light, ..Silhouette::new(shape, colour, at, tall) }.paint(canvas);
    shape.wide() * tall / 100.0
}

/// How steeply an edge rises to the right (positive) or falls, smoothed.
pub(super) fn slopes(top: &[f32], short: f32) -> Vec<f32> {
    let reach = (short * 0.009).max(1.0) as usize;
    let at = |x: usize| top.get(x.min(top.len().saturating_sub(1))).copied().unwrap_or(0.0);
    (0..top.len())
        .map(|x| (at(x.saturating_sub(reach)) - at(x + reach)) / (2 * reach) as f32)
        .collect()
}

/// Paints from an edge down to `bottom`. `colour` depends on the column and on the distance from
/// the edge.
pub(super) fn below(
    canvas: &mut Canvas,
    top: &[f32],
    bottom: f32,
    colour: impl Fn(usize, f32) -> Colour,
) {
    let bottom = (bottom.ceil().max(0.0) as usize).min(canvas.height);
    let highest = top.iter().copied().fold(f32::MAX, f32::min).max(0.0) as usize;
    for y in highest..bottom {
        for (x, (pixel, top)) in canvas.row_mut(y).iter_mut().zip(top).enumerate() {
            let under = y as f32 + 1.0 - top;
            if under > 0.0 {
                let colour = colour(x, under);
                *pixel = if under < 1.0 { mix(*pixel, colour, under) } else { colour };
            }
        }
    }
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
