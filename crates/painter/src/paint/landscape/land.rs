//! Land and water: ranges of mountains, hills and dunes, firs on them, the foreground that things
//! stand on, the sea, and a still lake.

use super::setting::Setting;
use crate::paint::{
    canvas::{Area, Canvas, Colour, WHITE, lit, mix, rgb},
    noise::{Draw, ridge, smooth},
    tables::Sight,
};

/// The number of ranges.
const RANGES: u32 = 5;

/// Range behind range, down to the shore.
pub(super) fn near(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let scene = setting.scene;
    let skipped = if scene.has(Sight::Mountains) { 2 } else { 0 };
    for number in skipped..RANGES {
        let depth = number as f32 / (RANGES - 1) as f32;
        let top = range(canvas, draw, setting, depth);
        let is_bare = depth < 0.5 || scene.has(Sight::Desert) || scene.has(Sight::Field);
        if setting.terrain == Sight::Forest || !is_bare {
            firs(canvas, draw, setting, &top, depth);
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
    let crest = |x| base - (ridge(seed, x as f32 / width * waves, octaves) - 0.25) * rise * short;
    let top: Vec<f32> = (0..canvas.width).map(crest).collect();
    let colour = setting.ground(depth);
    let mist = mix(colour, setting.palette.horizon, 0.5 * (1.0 - depth) + 0.12);
    let span = short * 0.30;
    canvas.below(&top, setting.shore, |_, under| mix(colour, mist, under / span));
    top
}

/// Rugged mountains from the farthest (depth 0), with facets in light and shadow, and snow on top.
pub(super) fn mountains(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, depth: f32) {
    let (short, seed) = (setting.short, draw.next());
    let rise = short * (0.62 - 0.5 * depth);
    let top = crests(canvas.width, setting, seed, depth, rise);
    let slopes = slopes(&top, short);
    let highest = top.iter().copied().fold(f32::MAX, f32::min);
    let colour = mix(setting.ground(depth), setting.palette.near, 0.25);
    let ambient = setting.palette.time.ambient();
    let snow = lit(mix(WHITE, setting.palette.light, 0.4), ambient.map(f32::sqrt));
    let snow_line = short * if setting.scene.has(Sight::Snow) { 0.42 } else { 0.2 };
    let is_lit_from_right = setting.light.0 > setting.width / 2.0;
    let jag = |x: usize| ridge(seed ^ 9, x as f32 / short * 26.0, 2);
    let jags: Vec<f32> = (0..canvas.width).map(jag).collect();
    let lower = setting.shore.min(setting.floor * 1.1);
    canvas.below(&top, lower, |x, under| {
        // Facets run down diagonally, because the slope is read beside the pixel.
        let last = (slopes.len() - 1) as f32;
        let beside = |by: f32| slopes[(x as f32 + under * by).clamp(0.0, last) as usize];
        let slope = beside(0.5) + 0.6 * beside(-0.3);
        let lit = if is_lit_from_right { -slope } else { slope };
        let light = smooth((0.5 + lit * 1.3).clamp(0.0, 1.0));
        let rock = mix(colour.map(|part| part * 0.72), mix(colour, ambient, 0.14), light);
        let rock = mix(rock, setting.palette.horizon, (under / (rise * 1.5)).min(0.72));
        let y = top[x] + under - highest;
        let cover = (snow_line * (0.7 + jags[x]) - y * 0.8 - under * 0.3) / (short * 0.012);
        let snow = mix(mix(snow, colour, 0.45), snow, light);
        mix(rock, snow, cover.clamp(0.0, 1.0) * 0.95)
    });
}

/// How steeply an edge rises to the right (positive) or falls, smoothed.
fn slopes(top: &[f32], short: f32) -> Vec<f32> {
    let reach = (short * 0.009).max(1.0) as usize;
    let at = |x: usize| top[x.min(top.len() - 1)];
    let slope = |x: usize| (at(x.saturating_sub(reach)) - at(x + reach)) / (2 * reach) as f32;
    (0..top.len()).map(slope).collect()
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

/// The share of each tier that is covered by snow.
const SNOW: f32 = 0.42;

/// Trees along the upper edge of a hill: groves of firs, or in a forest tall ones everywhere.
fn firs(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, top: &[f32], depth: f32) {
    let (width, short) = (setting.width, setting.short);
    let is_forest = setting.terrain == Sight::Forest;
    let size = if is_forest {
        short * (0.12 + 0.4 * depth * depth)
    } else {
        short * (0.02 + 0.055 * (depth - 0.5) * 2.0)
    };
    let colour = foliage(setting, depth);
    let grove = draw.next();
    let step = (size * 0.42).max(2.0);
    let mut x = 0.0;
    while x < width {
        x += step * draw.between(0.5, 1.6);
        // A clearing in the middle of the near ranks of a forest.
        let aside = ((x / width - 0.5).abs() * 2.4).min(1.0);
        let clear = if is_forest { depth * depth * (1.0 - aside) * 0.8 } else { 0.0 };
        let height = size * draw.between(0.6, 1.25) * (1.0 - clear);
        if (is_forest || ridge(grove, x / short * 5.0, 2) > 0.52)
            && let Some(ground) = top.get(x as usize)
        {
            let colour = shade_of(draw, setting, colour);
            fir(canvas, setting, (x, ground + height * 0.12), height, colour);
        }
    }
}

/// The colours of leaves, and the share of each that is mixed into the colour of near ground.
const LEAVES: [(Sight, u32, f32); 5] = [
    (Sight::Snow, 0x2c4a50, 0.55),
    (Sight::Snowfall, 0x2c4a50, 0.55),
    (Sight::Autumn, 0xc8641e, 0.6),
    (Sight::Spring, 0xe89ab8, 0.6),
    (Sight::Forest, 0x1c4a30, 0.5),
];

fn foliage(setting: &Setting, depth: f32) -> Colour {
    let (scene, palette) = (setting.scene, &setting.palette);
    let leaves = LEAVES.into_iter().find(|(sight, ..)| scene.has(*sight));
    let bare = || mix(setting.ground(depth), palette.near, 0.55);
    let base = leaves.map_or_else(bare, |(_, hex, share)| mix(palette.near, rgb(hex), share));
    let lit = palette.time.lit(base);
    let own = scene.colour_of(Sight::Forest).map_or(lit, |own| mix(lit, own, 0.5));
    mix(own, palette.horizon, 0.62 * (1.0 - depth))
}

/// In spring and autumn, no two trees have the same colour.
fn shade_of(draw: &mut Draw, setting: &Setting, colour: Colour) -> Colour {
    let share = draw.unit();
    if setting.scene.has(Sight::Autumn) {
        mix(colour, if share < 0.5 { rgb(0xe8b23a) } else { rgb(0x8a2f1e) }, share * 0.45)
    } else if setting.scene.has(Sight::Spring) {
        mix(colour, rgb(0xfbe6ee), share * 0.4)
    } else {
        colour
    }
}

/// Tiers of branches, each wider than the one above.
fn fir(canvas: &mut Canvas, setting: &Setting, (x, foot): (f32, f32), height: f32, colour: Colour) {
    let scene = setting.scene;
    let has_snow = scene.has(Sight::Snow) || scene.has(Sight::Snowfall);
    let snow = mix(setting.ground(1.0), colour, 0.08);
    let tiers = if height > setting.short * 0.12 { 7.0 } else { 4.0 };
    let tip = foot - height;
    for y in tip.floor() as i64..foot.ceil() as i64 {
        let fall = ((y as f32 + 0.5 - tip) / height).clamp(0.0, 1.0);
        let tier = (fall * tiers).fract();
        let half = height * 0.21 * fall * (0.62 + 0.38 * tier);
        let colour = mix(colour, colour.map(|part| part * 0.8), tier);
        canvas.blend_span(y, x - half, x + half, colour, 1.0);
        if has_snow && tier < SNOW * 2.0 {
            let reach = half * (1.0 - tier / (SNOW * 2.0)).sqrt();
            canvas.blend_span(y, x - reach, x + half * 0.25 * (1.0 - tier), snow, 0.92);
        }
    }
}

/// Ground without grass.
const PLAIN: [Sight; 3] = [Sight::Desert, Sight::Beach, Sight::Space];

/// Paints the ground below `top`, with what grows or lies on it.
pub(super) fn bank(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, top: &[f32]) {
    let scene = setting.scene;
    let colour = setting.ground(1.0);
    let has_snow = scene.has(Sight::Snow) || scene.has(Sight::Snowfall);
    let shade = match () {
        () if has_snow => mix(colour, mix(rgb(0x8fa8cc), setting.palette.zenith, 0.35), 0.42),
        () => mix(colour, setting.palette.near.map(|part| part * 0.6), 0.4),
    };
    let light = mix(colour, setting.palette.light, if setting.is_night() { 0.05 } else { 0.12 });
    let depth = (canvas.height as f32 - setting.floor * 0.83).max(1.0);
    let (seed, short) = (draw.next(), setting.short);
    let drift: Vec<f32> =
        (0..canvas.width).map(|x| ridge(seed, x as f32 / short * 2.2, 2) - 0.5).collect();
    canvas.below(top, canvas.height as f32, |x, under| {
        let wave = drift[x] * 0.5;
        let down = (under / depth + wave * (under / depth).min(1.0)).clamp(0.0, 1.0);
        mix(light, shade, down * down)
    });
    match setting.terrain {
        Sight::City => {}
        _ if has_snow || PLAIN.iter().any(|sight| scene.has(*sight)) => {
            ripples(canvas, draw, setting, top, light);
        }
        _ => grass(canvas, draw, setting, top, colour),
    }
}

/// Faint lines of wind in sand or snow.
fn ripples(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, top: &[f32], light: Colour) {
    let short = setting.short;
    for _ in 0..34 {
        let (x, upper) = (draw.unit() * setting.width, setting.floor * 0.85);
        let y = draw.between(upper, canvas.height as f32);
        let ground = top.get(x as usize).copied().unwrap_or(0.0);
        if y < ground + short * 0.02 {
            continue;
        }
        let (across, down) = (short * draw.between(0.03, 0.12), short * draw.between(0.002, 0.006));
        canvas.oval((x, y), (across, down), mix(light, WHITE, 0.3), 0.28);
    }
}

/// Tufts of grass, and flowers in a field or in spring.
fn grass(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, top: &[f32], colour: Colour) {
    const PETALS: [u32; 5] = [0xf6e7a0, 0xf29ab8, 0xfdfaf4, 0xe8664a, 0xb79af0];
    let (scene, short) = (setting.scene, setting.short);
    let has_flowers = [Sight::Field, Sight::Spring, Sight::Summer].map(|sight| scene.has(sight));
    let blade = short * 0.022;
    for _ in 0..(setting.width / short * 260.0) as u32 {
        let x = draw.unit() * setting.width;
        let ground = top.get(x as usize).copied().unwrap_or(canvas.height as f32);
        let down = draw.unit();
        let y = ground + (canvas.height as f32 - ground) * down * down;
        let tall = blade * draw.between(0.5, 1.0) * (0.5 + down);
        let tone = if draw.chance(0.5) { WHITE } else { setting.palette.near };
        let tone = mix(colour, tone, draw.between(0.05, 0.22));
        let lean = draw.between(-0.4, 0.4);
        for row in (y - tall) as i64..y as i64 {
            let up = (y - row as f32) / tall;
            let at = x + lean * up * up * tall;
            let half = short * 0.0014 * (1.1 - up);
            canvas.blend_span(row, at - half, at + half, tone, 0.8);
        }
        if has_flowers.contains(&true) && draw.chance(0.4) {
            let petal = setting.palette.time.lit(rgb(draw.pick(&PETALS)));
            let size = short * 0.005 * (0.5 + down);
            canvas.oval((x + lean * tall, y - tall), (size, size), petal, 0.95);
        }
    }
}

/// Open water up to the horizon, which mirrors the colours of the sky and glitters below the light.
pub(super) fn sea(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let palette = &setting.palette;
    let shore = setting.shore.max(0.0) as usize;
    let room = (canvas.height as f32 - setting.shore).max(1.0);
    let own = setting.scene.colour_of(Sight::Sea).unwrap_or(rgb(0x1f6f8f));
    let deep = mix(mix(palette.zenith, palette.time.lit(own), 0.55), palette.near, 0.2);
    for y in shore..canvas.height {
        let down = (y - shore) as f32 / room;
        let row =
            mix(mix(palette.horizon, palette.zenith, 0.3), deep, (down * 1.9).min(1.0).sqrt());
        canvas.row_mut(y).fill(row);
    }
    let short = setting.short;
    for _ in 0..(setting.width / short * 520.0) as u32 {
        let down = draw.unit();
        let y = setting.shore + room * down * down;
        let length = short * (0.008 + 0.11 * down * down) * draw.between(0.4, 1.2);
        let x = draw.unit() * (setting.width + length) - length;
        let light = draw.chance(0.5);
        let tone = if light { mix(palette.horizon, WHITE, 0.4) } else { palette.zenith };
        let share = draw.between(0.06, if light { 0.26 } else { 0.34 });
        let thick = (short * 0.0025 * (0.4 + down)).max(1.0) as i64;
        for row in 0..thick {
            canvas.blend_span(y as i64 + row, x, x + length, tone, share);
        }
    }
    glitter(canvas, draw, setting, room);
    let line = mix(palette.horizon, palette.light, 0.5);
    canvas.blend_rectangle(Area { y: shore as i64, height: 1, ..canvas.area() }, line, 0.4);
}

/// The path of light below the sun or the moon.
fn glitter(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, room: f32) {
    let short = setting.short;
    let strength = if setting.is_night() { 0.6 } else { 0.8 };
    for _ in 0..260 {
        let down = draw.unit();
        let y = setting.shore + room * down;
        let spread = short * (0.03 + 0.12 * down);
        let aside = draw.between(-1.0, 1.0);
        let x = setting.light.0 + aside * aside.abs() * spread;
        let half = short * (0.004 + 0.022 * down) * draw.between(0.4, 1.0);
        let share = strength * (1.0 - down * 0.7) * draw.between(0.3, 1.0);
        canvas.blend_span(y as i64, x - half, x + half, setting.palette.light, share);
    }
}

/// Still water that mirrors what is above it.
pub(super) fn lake(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let palette = &setting.palette;
    let seed = draw.next();
    let shore = setting.shore.max(1.0) as usize;
    let depth = (canvas.height - shore.min(canvas.height)).max(1) as f32;
    let short = setting.short;
    let own = setting.scene.colour_of(Sight::Lake).unwrap_or(palette.near);
    let is_frozen = setting.scene.has(Sight::Snow);
    for y in shore..canvas.height {
        let below = (y - shore) as f32;
        let ripple = (ridge(seed, below / short * 90.0, 2) - 0.5) * (2.0 + below * 0.12);
        let source =
            (shore as f32 - 1.0 - below * 1.25 + ripple).clamp(0.0, shore.saturating_sub(1) as f32);
        let shift = (ridge(seed ^ 1, below / short * 60.0, 2) - 0.5) * below * 0.06;
        let mirrored = canvas.row(source as usize).to_vec();
        let dark = 0.16 + 0.34 * below / depth;
        let (tone, share) =
            if is_frozen { (rgb(0xdcebf5), 0.25 + dark * 0.4) } else { (own, dark) };
        for (x, pixel) in canvas.row_mut(y).iter_mut().enumerate() {
            let from = (x as f32 + shift).clamp(0.0, (mirrored.len() - 1) as f32) as usize;
            *pixel = mix(mirrored[from], tone, share);
        }
    }
    let line = mix(palette.horizon, palette.light, 0.5);
    canvas.blend_rectangle(Area { y: shore as i64, height: 1, ..canvas.area() }, line, 0.35);
    glitter(canvas, draw, setting, depth);
}
