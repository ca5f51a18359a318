//! What shines at night and in space: stars, an aurora, fireworks, a planet.

use super::{
    super::{
        canvas::{Canvas, Colour, WHITE, mix, rgb},
        noise::Draw,
        silhouette::Light,
        tables::Sight,
    },
    brushes::{disc, glow, haze, shape},
    setting::Setting,
};

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let scene = setting.scene;
    let is_starry = scene.has(Sight::Stars);
    if is_starry {
        let colour = mix(setting.palette.light, rgb(0x8a7ad0), 0.55);
        veils(canvas, draw, setting.skyline * 1.2, &[colour], 0.8);
    }
    stars(canvas, draw, setting, setting.skyline, if is_starry { 2.2 } else { 1.0 });
    if scene.has(Sight::Aurora) {
        let own = scene.colour_of(Sight::Aurora);
        let colours = [0x9a5ae0, 0x3ff0a0].map(|hex| own.unwrap_or(rgb(hex)));
        veils(canvas, draw, setting.skyline * 1.2, &colours, 0.3);
    }
}

/// Veils of light above `lower`: the milky way, an aurora, or nebulas.
fn veils(canvas: &mut Canvas, draw: &mut Draw, lower: f32, colours: &[Colour], stretch: f32) {
    let rows = (lower as usize).min(canvas.height);
    for colour in colours {
        let (seed, cover) = (draw.next(), draw.between(0.46, 0.58));
        haze(canvas, seed, rows, (*colour, 0.6), stretch, |thick| (thick - cover) * 3.0);
    }
}

/// Stars above `lower`, `dense` times as many as usual.
fn stars(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, lower: f32, dense: f32) {
    let (width, short) = (setting.width, setting.short);
    let count = (width * lower / (short * short) * 420.0 * dense) as u32;
    for _ in 0..count.min(4000) {
        let (x, y) = (draw.unit() * width, draw.unit() * lower);
        let fade = if setting.skyline < lower { 1.0 } else { 1.0 - 0.75 * y / lower };
        let shine = draw.between(0.12, 0.9) * fade;
        let colour = mix(WHITE, rgb(if draw.chance(0.5) { 0xbcd4ff } else { 0xffe6c0 }), 0.6);
        canvas.blend(x as i64, y as i64, colour, shine);
        if draw.chance(0.06) {
            disc(canvas, (x, y), short * 0.0018, colour, shine);
            glow(canvas, (x, y), short * 0.011, colour, shine * 0.5);
        }
    }
}

pub(super) fn fireworks(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let short = setting.short;
    for _ in 0..5 {
        let colours = [0xff5a5a, 0xffd24a, 0x6ad0ff, 0xd07aff, 0x7aff9a];
        let colour = setting.scene.colour_of(Sight::Fireworks);
        let colour = colour.unwrap_or(rgb(colours[draw.next() as usize % colours.len()]));
        let at =
            (setting.width * draw.between(0.1, 0.9), setting.skyline * draw.between(0.15, 0.6));
        let reach = short * draw.between(0.08, 0.17);
        glow(canvas, at, reach * 1.7, colour, 0.35);
        shape(canvas, "firework", colour, (at.0, at.1 + reach), reach * 2.0, Light::PLAIN);
    }
}

/// Space: stars, a nebula and a planet with a ring.
pub(super) fn space(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let height = canvas.height as f32;
    for y in 0..canvas.height {
        let row =
            mix(rgb(0x04040e), mix(setting.palette.zenith, rgb(0x120a2a), 0.5), y as f32 / height);
        canvas.row_mut(y).fill(row);
    }
    let own = setting.scene.colour_of(Sight::Space);
    let colours = [0x7a3fd0, 0x1f7fc0, 0xe0508a].map(|hex| own.unwrap_or(rgb(hex)));
    veils(canvas, draw, height, &colours, 1.0);
    stars(canvas, draw, setting, height, 1.6);
    planet(canvas, draw, setting);
}

fn planet(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    const COLOURS: [u32; 4] = [0xd98a5a, 0x5a9ad9, 0xc9a86a, 0x8a6ad0];
    let tall = setting.short * draw.between(0.28, 0.4);
    let (x, y) = (setting.width * draw.between(0.2, 0.8), setting.floor * draw.between(0.26, 0.36));
    let colour = rgb(COLOURS[draw.next() as usize % COLOURS.len()]);
    glow(canvas, (x, y), tall * 0.85, colour, 0.4);
    shape(canvas, "planet", colour, (x, y + tall / 2.0), tall, Light::PLAIN);
}
