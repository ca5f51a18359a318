//! Firs: on hills, and in a forest.

use super::{
    super::{
        canvas::{Canvas, Colour, mix, rgb},
        noise::{Draw, ridge},
        tables::Sight,
    },
    setting::{Setting, Terrain},
};

/// The share of each tier that is covered by snow.
const SNOW: f32 = 0.42;

/// Trees along the upper edge of a hill: groves of firs, or in a forest tall ones everywhere.
pub(super) fn on_hills(
    canvas: &mut Canvas,
    draw: &mut Draw,
    setting: &Setting,
    top: &[f32],
    depth: f32,
) {
    let (width, short) = (setting.width, setting.short);
    let is_forest = setting.terrain == Terrain::Forest;
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

fn foliage(setting: &Setting, depth: f32) -> Colour {
    let scene = setting.scene;
    let base = if scene.has(Sight::Snow) || scene.has(Sight::Snowfall) {
        mix(setting.palette.near, rgb(0x2c4a50), 0.55)
    } else if scene.has(Sight::Autumn) {
        mix(setting.palette.near, rgb(0xc8641e), 0.6)
    } else if scene.has(Sight::Spring) {
        mix(setting.palette.near, rgb(0xe89ab8), 0.6)
    } else if scene.has(Sight::Forest) {
        mix(setting.palette.near, rgb(0x1c4a30), 0.5)
    } else {
        mix(setting.ground(depth), setting.palette.near, 0.55)
    };
    let lit = setting.palette.time.lit(base);
    let own = scene.colour_of(Sight::Forest).map_or(lit, |own| mix(lit, own, 0.5));
    mix(own, setting.palette.horizon, 0.62 * (1.0 - depth))
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
