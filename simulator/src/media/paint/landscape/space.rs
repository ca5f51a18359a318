//! Space: stars, a nebula and a planet with a ring.

use super::{
    super::{
        canvas::{Canvas, mix, rgb},
        noise::{Draw, ridge},
        tables::Sight,
    },
    brushes::{glow, oval},
    clouds, night_sky,
    setting::Setting,
};

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let height = canvas.height as f32;
    for y in 0..canvas.height {
        let row =
            mix(rgb(0x04040e), mix(setting.palette.zenith, rgb(0x120a2a), 0.5), y as f32 / height);
        canvas.row_mut(y).fill(row);
    }
    let own = setting.scene.colour_of(Sight::Space);
    for hex in [0x7a3fd0, 0x1f7fc0, 0xe0508a] {
        let seed = draw.next();
        let colour = own.unwrap_or(rgb(hex));
        let cover = draw.between(0.46, 0.58);
        clouds::haze(canvas, seed, canvas.height, (colour, 0.5), 1.0, |thick| {
            (thick - cover) * 2.6
        });
    }
    night_sky::stars(canvas, draw, setting, height, 1.6);
    planet(canvas, draw, setting);
}

fn planet(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    const COLOURS: [u32; 4] = [0xd98a5a, 0x5a9ad9, 0xc9a86a, 0x8a6ad0];
    let short = setting.short;
    let radius = short * draw.between(0.14, 0.2);
    let at = (setting.width * draw.between(0.2, 0.8), setting.floor * draw.between(0.26, 0.36));
    let colour = rgb(COLOURS[draw.next() as usize % COLOURS.len()]);
    let seed = draw.next();
    glow(canvas, at, radius * 1.7, colour, 0.4);
    let ring = mix(colour, [1.0; 3], 0.5);
    ring_half(canvas, at, radius, ring, -1.0);
    for y in (at.1 - radius).max(0.0) as i64..(at.1 + radius) as i64 + 1 {
        let dy = (y as f32 + 0.5 - at.1) / radius;
        let half = (1.0 - dy * dy).max(0.0).sqrt() * radius;
        let band = ridge(seed, dy * 4.0 + 9.0, 3);
        let tone = mix(colour.map(|part| part * 0.7), mix(colour, [1.0; 3], 0.35), band);
        for x in (at.0 - half) as i64..(at.0 + half) as i64 + 1 {
            let dx = (x as f32 + 0.5 - at.0) / radius;
            // The light comes from the upper left.
            let light = (0.55 - 0.5 * (dx * 0.8 + dy * 0.55)).clamp(0.06, 1.0);
            let edge = (half - (x as f32 + 0.5 - at.0).abs() + 0.5).clamp(0.0, 1.0);
            canvas.blend(x, y, tone.map(|part| part * light * 1.3), edge);
        }
    }
    ring_half(canvas, at, radius, ring, 1.0);
}

/// The half of the ring behind (-1) or in front of (1) the planet.
fn ring_half(canvas: &mut Canvas, at: (f32, f32), radius: f32, colour: [f32; 3], side: f32) {
    for step in 0..14 {
        let out = radius * (1.4 + step as f32 * 0.045);
        for angle in 0..240 {
            let turn = angle as f32 / 240.0 * std::f32::consts::PI;
            let (across, down) = (turn.cos() * out, turn.sin() * out * 0.24 * side);
            let point = (at.0 + across + down * 0.6, at.1 + down + across * -0.18);
            let share = if step == 6 { 0.04 } else { 0.2 };
            let size = radius * 0.02;
            oval(canvas, point, (size * 1.4, size), colour, share);
        }
    }
}
