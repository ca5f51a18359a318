//! Water: the sea, and a still lake.

use super::{
    super::{
        canvas::{Area, Canvas, WHITE, mix, rgb},
        noise::{Draw, ridge},
        tables::Sight,
    },
    setting::Setting,
};

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
    let streaks = (setting.width / short * 520.0) as u32;
    for _ in 0..streaks {
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
