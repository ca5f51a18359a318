//! Ranges of mountains, hills and dunes.

use super::{
    super::{
        canvas::{Canvas, mix, rgb},
        noise::{Draw, ridge},
        tables::Sight,
    },
    brushes::{below, slopes},
    firs, mountains,
    setting::{Setting, Terrain},
};

/// The number of ranges.
const RANGES: u32 = 5;

/// The farthest ranges: mountains, or a distant coast.
pub(super) fn far(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let has_mountains = setting.scene.has(Sight::Mountains);
    if has_mountains {
        for depth in [0.0, 0.3] {
            mountains::paint(canvas, draw, setting, depth);
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
