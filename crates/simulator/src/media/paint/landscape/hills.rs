//! Ranges of mountains, hills and dunes.

use super::{
    super::{
        canvas::{Canvas, Colour, WHITE, mix},
        noise::{Draw, ridge, smooth},
        tables::Sight,
    },
    brushes::{below, slopes},
    firs,
    setting::{Setting, Terrain},
};

/// The number of ranges.
const RANGES: u32 = 5;

/// The farthest ranges, if they are mountains.
pub(super) fn far(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    if setting.scene.has(Sight::Mountains) {
        for depth in [0.0, 0.3] {
            mountains(canvas, draw, setting, depth);
        }
    }
}

/// Range behind range, down to the shore.
pub(super) fn near(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let scene = setting.scene;
    let skipped = if scene.has(Sight::Mountains) { 2 } else { 0 };
    for number in skipped..RANGES {
        let depth = number as f32 / (RANGES - 1) as f32;
        let top = range(canvas, draw, setting, depth);
        let is_bare = depth < 0.5 || scene.has(Sight::Desert) || scene.has(Sight::Field);
        if setting.terrain == Terrain::Forest || !is_bare {
            firs::on_hills(canvas, draw, setting, &top, depth);
        }
    }
}

/// Paints a range and returns its upper edge.
fn range(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, depth: f32) -> Vec<f32> {
    let has = |sight| setting.scene.has(sight);
    // Far ranges are rugged and high, near ones are round.
    let octaves = match depth {
        _ if has(Sight::Desert) || has(Sight::Hills) || has(Sight::Field) => 2,
        ..0.5 => 6,
        _ => 4,
    };
    let rise = 0.34 - 0.16 * depth;
    let waves = if has(Sight::Desert) { 0.9 + depth } else { 1.6 + depth * 0.9 };
    let (width, short) = (setting.width, setting.short);
    let seed = draw.next();
    let waves = waves * width / short;
    let foot = setting.shore.min(setting.floor * 1.02);
    let base = setting.skyline + (foot - setting.skyline) * (0.06 + 0.80 * depth);
    let top: Vec<f32> = (0..canvas.width)
        .map(|x| base - (ridge(seed, x as f32 / width * waves, octaves) - 0.25) * rise * short)
        .collect();
    let colour = setting.ground(depth);
    let mist = mix(colour, setting.palette.horizon, 0.5 * (1.0 - depth) + 0.12);
    let span = short * 0.30;
    below(canvas, &top, setting.shore, |_, under| mix(colour, mist, under / span));
    top
}

/// Rugged mountains from the farthest (depth 0), with facets in light and shadow, and snow on top.
fn mountains(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, depth: f32) {
    let (short, seed) = (setting.short, draw.next());
    let rise = short * (0.62 - 0.5 * depth);
    let top = crests(canvas.width, setting, seed, depth, rise);
    let slopes = slopes(&top, short);
    let highest = top.iter().copied().fold(f32::MAX, f32::min);
    let colour = mix(setting.ground(depth), setting.palette.near, 0.25);
    let ambient = setting.palette.time.ambient();
    let snow = mix(WHITE, setting.palette.light, 0.4);
    let snow: Colour = std::array::from_fn(|part| snow[part] * ambient[part].sqrt());
    let snow_line = short * if setting.scene.has(Sight::Snow) { 0.42 } else { 0.2 };
    let is_lit_from_right = setting.light.0 > setting.width / 2.0;
    let jag = |x: usize| ridge(seed ^ 9, x as f32 / short * 26.0, 2);
    let jags: Vec<f32> = (0..canvas.width).map(jag).collect();
    let lower = setting.shore.min(setting.floor * 1.1);
    below(canvas, &top, lower, |x, under| {
        // Facets run down diagonally, because the slope is read beside the pixel.
        let beside = |by: f32| {
            let at = (x as f32 + under * by).clamp(0.0, (slopes.len() - 1) as f32);
            slopes.get(at as usize).copied().unwrap_or(0.0)
        };
        let slope = beside(0.5) + 0.6 * beside(-0.3);
        let lit = if is_lit_from_right { -slope } else { slope };
        let light = smooth((0.5 + lit * 1.3).clamp(0.0, 1.0));
        let rock = mix(colour.map(|part| part * 0.72), mix(colour, ambient, 0.14), light);
        let rock = mix(rock, setting.palette.horizon, (under / (rise * 1.5)).min(0.72));
        let y = top.get(x).copied().unwrap_or(0.0) + under - highest;
        let jag = jags.get(x).copied().unwrap_or(0.5);
        let cover = (snow_line * (0.7 + jag) - y * 0.8 - under * 0.3) / (short * 0.012);
        let snow = mix(mix(snow, colour, 0.45), snow, light);
        mix(rock, snow, cover.clamp(0.0, 1.0) * 0.95)
    });
}

/// The upper edge in each column.
fn crests(columns: usize, setting: &Setting, seed: u64, depth: f32, rise: f32) -> Vec<f32> {
    let base = setting.skyline + setting.short * 0.12 * depth;
    let waves = (1.5 + depth * 2.0) / setting.short;
    let crest = |x: usize| {
        let at = x as f32 * waves;
        // Folding the noise gives it sharp crests.
        let fold = 1.0 - (ridge(seed, at, 2) * 2.0 - 1.0).abs() * 1.5;
        base - rise * (fold * 0.8 + (ridge(seed ^ 5, at * 5.0, 3) - 0.5) * 0.22 - 0.12)
    };
    (0..columns).map(crest).collect()
}
