//! Ranges of mountains, hills and dunes.

use super::{
    super::{
        canvas::{Canvas, Colour, WHITE, mix, rgb},
        noise::{Draw, ridge, smooth},
        tables::Sight,
    },
    brushes::{below, slopes},
    firs,
    setting::{Setting, Terrain},
};

/// The number of ranges.
const RANGES: u32 = 5;

/// The farthest ranges: mountains, or a distant coast.
pub(super) fn far(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let has_mountains = setting.scene.has(Sight::Mountains);
    if has_mountains {
        for depth in [0.0, 0.3] {
            mountains(canvas, draw, setting, depth);
        }
    }
    let is_sea = setting.terrain == Terrain::Sea;
    if setting.terrain == Terrain::Forest || is_sea && !has_mountains && draw.chance(0.5) {
        let rise = if is_sea { 0.10 } else { 0.3 };
        range(canvas, draw, setting, Range { depth: 0.0, rise, waves: 1.2, octaves: 5 });
    }
}

/// Range behind range, down to the shore.
pub(super) fn near(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let scene = setting.scene;
    let is_desert = scene.has(Sight::Desert);
    let is_round = is_desert || scene.has(Sight::Hills) || scene.has(Sight::Field);
    let skipped = if scene.has(Sight::Mountains) { 2 } else { 0 };
    for number in skipped..RANGES {
        let depth = number as f32 / (RANGES - 1) as f32;
        // Far ranges are rugged and high, near ones are round.
        let octaves = match depth {
            _ if is_round => 2,
            ..0.5 => 6,
            _ => 4,
        };
        let rise = 0.34 - 0.16 * depth;
        let waves = if is_desert { 0.9 + depth } else { 1.6 + depth * 0.9 };
        let top = range(canvas, draw, setting, Range { depth, rise, waves, octaves });
        if depth >= 0.5 && !is_desert && !scene.has(Sight::Field) {
            firs::on_hills(canvas, draw, setting, &top, depth);
        }
    }
}

struct Range {
    /// From the farthest (0) to the nearest (1).
    depth: f32,
    rise: f32,
    waves: f32,
    octaves: u32,
}

/// Paints a range and returns its upper edge.
fn range(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, range: Range) -> Vec<f32> {
    let Range { depth, rise, waves, octaves } = range;
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
    let is_desert = setting.scene.has(Sight::Desert);
    let shade = mix(colour, rgb(0x4a2038), 0.3);
    let slopes = slopes(&top, short);
    let is_lit_from_right = setting.light.0 > width / 2.0;
    let span = short * 0.30;
    below(canvas, &top, setting.shore, |x, under| {
        let ground = mix(colour, mist, under / span);
        if !is_desert {
            return ground;
        }
        // The side of a dune that faces the sun is light.
        let slope = slopes.get(x).copied().unwrap_or(0.0);
        let lit = if is_lit_from_right { -slope } else { slope };
        let share = (0.35 - lit * 2.2).clamp(0.0, 1.0) * (1.0 - under / (span * 1.4)).max(0.0);
        mix(ground, shade, share * share)
    });
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
