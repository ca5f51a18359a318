//! A landscape: sky, light, clouds, hills, firs, and sometimes a lake.

use super::{
    canvas::{Canvas, Colour, WHITE, mix, rgb},
    noise::{Draw, cloud, ridge},
    palette::{PALETTES, Palette},
};

/// The number of ranges of hills.
const RANGES: u32 = 5;

/// Clouds are computed for squares of this many pixels and interpolated in between.
const CLOUD_GRID: usize = 8;

pub(super) fn paint(canvas: &mut Canvas, key: &[u8; 32]) {
    let mut draw = Draw::new(key);
    let palette = &PALETTES[draw.next() as usize % PALETTES.len()];
    let height = canvas.height as f32;
    let has_lake = draw.chance(0.5);
    let skyline = height * draw.between(0.42, 0.56);
    let shore = if has_lake { height * draw.between(0.66, 0.74) } else { height };

    sky(canvas, &mut draw, palette, skyline);
    for range in 0..RANGES {
        let depth = range as f32 / (RANGES - 1) as f32;
        hills(canvas, &mut draw, palette, Range { depth, skyline, shore });
    }
    if has_lake {
        lake(canvas, &mut draw, palette, shore as usize);
    } else if !palette.night {
        birds(canvas, &mut draw, palette, skyline);
    }
}

fn sky(canvas: &mut Canvas, draw: &mut Draw, palette: &Palette, skyline: f32) {
    let (width, short) = (canvas.width as f32, canvas.short());
    let at = (width * draw.between(0.18, 0.82), skyline * draw.between(0.3, 0.75));
    let radius = short * draw.between(0.035, 0.07);
    let (reach, glow) = (short * 0.75, if palette.night { 0.25 } else { 0.6 });
    for y in 0..canvas.height {
        let fall = (y as f32 / skyline).min(1.0);
        let row = mix(palette.zenith, palette.horizon, fall * fall * 0.55 + fall * 0.45);
        for (x, pixel) in canvas.row_mut(y).iter_mut().enumerate() {
            let (dx, dy) = (x as f32 - at.0, y as f32 - at.1);
            let near = (1.0 - (dx * dx + dy * dy) / (reach * reach)).max(0.0);
            *pixel = mix(row, palette.light, near * near * near * glow);
        }
    }
    if palette.night {
        stars(canvas, draw, skyline);
    }
    disc(canvas, at, radius, palette.light);
    clouds(canvas, draw, palette, skyline);
}

fn disc(canvas: &mut Canvas, (centre_x, centre_y): (f32, f32), radius: f32, colour: Colour) {
    let rows = (centre_y - radius).floor() as i64..=(centre_y + radius).ceil() as i64;
    for y in rows {
        let dy = y as f32 + 0.5 - centre_y;
        let half = (radius * radius - dy * dy).max(0.0).sqrt();
        canvas.blend_span(y, centre_x - half, centre_x + half, colour, 0.95);
    }
}

fn stars(canvas: &mut Canvas, draw: &mut Draw, skyline: f32) {
    for _ in 0..220 {
        let (x, y) = (draw.unit() * canvas.width as f32, draw.unit() * skyline);
        let shine = draw.between(0.15, 0.9) * (1.0 - 0.7 * y / skyline);
        canvas.blend(x as i64, y as i64, WHITE, shine);
        if draw.chance(0.12) && canvas.short() > 400.0 {
            for (dx, dy) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
                canvas.blend(x as i64 + dx, y as i64 + dy, WHITE, shine * 0.4);
            }
        }
    }
}

fn clouds(canvas: &mut Canvas, draw: &mut Draw, palette: &Palette, skyline: f32) {
    let (seed, cover) = (draw.next(), draw.between(0.5, 0.64));
    let strength = if palette.night { 0.18 } else { 0.75 };
    let scale = 3.2 / canvas.short();
    let columns = canvas.width / CLOUD_GRID + 2;
    let rows = skyline as usize / CLOUD_GRID + 2;
    let grid: Vec<f32> = (0..rows * columns)
        .map(|index| {
            let (x, y) =
                ((index % columns * CLOUD_GRID) as f32, (index / columns * CLOUD_GRID) as f32);
            ((cloud(seed, x * scale, y * scale * 2.6, 4) - cover) * 4.5).clamp(0.0, 1.0)
        })
        .collect();
    let cell = |column: usize, row: usize| grid.get(row * columns + column).copied().unwrap_or(0.0);
    let colour = mix(palette.light, palette.horizon, 0.35);
    for y in 0..(skyline as usize).min(canvas.height) {
        let (row, down) = (y / CLOUD_GRID, (y % CLOUD_GRID) as f32 / CLOUD_GRID as f32);
        for (x, pixel) in canvas.row_mut(y).iter_mut().enumerate() {
            let (column, across) = (x / CLOUD_GRID, (x % CLOUD_GRID) as f32 / CLOUD_GRID as f32);
            let top = cell(column, row) * (1.0 - across) + cell(column + 1, row) * across;
            let bottom =
                cell(column, row + 1) * (1.0 - across) + cell(column + 1, row + 1) * across;
            let thick = top * (1.0 - down) + bottom * down;
            if thick > 0.0 {
                *pixel = mix(*pixel, colour, thick * strength);
            }
        }
    }
}

/// One range of hills, from the farthest (depth 0) to the nearest (depth 1).
struct Range {
    depth: f32,
    skyline: f32,
    shore: f32,
}

fn hills(canvas: &mut Canvas, draw: &mut Draw, palette: &Palette, range: Range) {
    let Range { depth, skyline, shore } = range;
    let (width, short) = (canvas.width as f32, canvas.short());
    let room = shore - skyline;
    let seed = draw.next();
    // Far ranges are rugged and high, near ones are round.
    let octaves = if depth < 0.5 { 6 } else { 4 };
    let waves = (1.6 + depth * 0.9) * width / short;
    let base = skyline + room * (0.06 + 0.80 * depth);
    let rise = short * (0.34 - 0.16 * depth);
    let top: Vec<f32> = (0..canvas.width)
        .map(|x| base - (ridge(seed, x as f32 / width * waves, octaves) - 0.25) * rise)
        .collect();

    let colour = mix(palette.far, palette.near, depth);
    let mist = mix(colour, palette.horizon, 0.5 * (1.0 - depth) + 0.12);
    let span = short * 0.30;
    let bottom = (shore.ceil() as usize).min(canvas.height);
    let highest = top.iter().copied().fold(f32::MAX, f32::min).max(0.0) as usize;
    for y in highest..bottom {
        for (pixel, top) in canvas.row_mut(y).iter_mut().zip(&top) {
            let under = y as f32 + 1.0 - top;
            if under > 0.0 {
                let ground = mix(colour, mist, under / span);
                *pixel = if under < 1.0 { mix(*pixel, ground, under) } else { ground };
            }
        }
    }
    if depth >= 0.5 {
        firs(canvas, draw, &top, mix(colour, palette.near, 0.55), depth);
    }
}

fn firs(canvas: &mut Canvas, draw: &mut Draw, top: &[f32], colour: Colour, depth: f32) {
    let (width, short) = (canvas.width as f32, canvas.short());
    let size = short * (0.02 + 0.055 * (depth - 0.5) * 2.0);
    let grove = draw.next();
    let step = (size * 0.42).max(2.0);
    let mut x = 0.0;
    while x < width {
        x += step * draw.between(0.5, 1.6);
        let height = size * draw.between(0.6, 1.25);
        // Firs stand in groves.
        if ridge(grove, x / short * 5.0, 2) > 0.52
            && let Some(ground) = top.get(x as usize)
        {
            fir(canvas, x, ground + height * 0.12, height, colour);
        }
    }
}

/// Tiers of branches, each wider than the one above.
fn fir(canvas: &mut Canvas, x: f32, foot: f32, height: f32, colour: Colour) {
    let tip = foot - height;
    for y in tip.floor() as i64..foot.ceil() as i64 {
        let fall = ((y as f32 + 0.5 - tip) / height).clamp(0.0, 1.0);
        let tier = (fall * 4.0).fract();
        let half = height * 0.21 * fall * (0.62 + 0.38 * tier);
        canvas.blend_span(y, x - half, x + half, colour, 1.0);
    }
}

/// Paints still water that mirrors what is above it.
fn lake(canvas: &mut Canvas, draw: &mut Draw, palette: &Palette, shore: usize) {
    let seed = draw.next();
    let depth = (canvas.height - shore.min(canvas.height)).max(1) as f32;
    let short = canvas.short();
    for y in shore..canvas.height {
        let below = (y - shore) as f32;
        let ripple = (ridge(seed, below / short * 90.0, 2) - 0.5) * (2.0 + below * 0.12);
        let source =
            (shore as f32 - 1.0 - below * 1.25 + ripple).clamp(0.0, shore.saturating_sub(1) as f32);
        let shift = (ridge(seed ^ 1, below / short * 60.0, 2) - 0.5) * below * 0.06;
        let mirrored = canvas.row(source as usize).to_vec();
        let dark = 0.16 + 0.34 * below / depth;
        for (x, pixel) in canvas.row_mut(y).iter_mut().enumerate() {
            let from = (x as f32 + shift).clamp(0.0, (mirrored.len() - 1) as f32) as usize;
            *pixel = mix(mirrored[from], palette.near, dark);
        }
    }
    // The shoreline.
    let line = mix(palette.horizon, palette.light, 0.5);
    canvas.blend_rectangle(0, shore as i64, canvas.width as i64, 1, line, 0.35);
}

fn birds(canvas: &mut Canvas, draw: &mut Draw, palette: &Palette, skyline: f32) {
    let short = canvas.short();
    if short < 200.0 {
        return;
    }
    let flock = (draw.unit() * canvas.width as f32, skyline * draw.between(0.2, 0.5));
    let colour = mix(palette.near, rgb(0x202030), 0.5);
    for _ in 0..3 + draw.next() % 5 {
        let (x, y) = (
            flock.0 + draw.between(-0.12, 0.12) * short,
            flock.1 + draw.between(-0.06, 0.06) * short,
        );
        let wing = short * draw.between(0.008, 0.014);
        let steps = (wing * 2.0) as i64;
        for step in -steps..=steps {
            let along = step as f32 / steps.max(1) as f32;
            let lift = (1.0 - (along.abs() * 2.0 - 1.0).powi(2)) * wing * 0.55;
            let (px, py) = (x + along * wing, y - lift + along.abs() * wing * 0.1);
            canvas.blend(px as i64, py as i64, colour, 0.7);
            canvas.blend(px as i64, py as i64 + 1, colour, 0.3);
        }
    }
}
