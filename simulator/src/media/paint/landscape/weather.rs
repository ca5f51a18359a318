//! Weather in front of the scenery: fog, rain, snowfall, lightning.

use super::{
    super::{
        canvas::{Canvas, WHITE, mix, rgb},
        noise::Draw,
        tables::Sight,
    },
    brushes::{disc, glow},
    setting::{Setting, Terrain},
};

/// Fog between the scenery and the foreground.
pub(super) fn between(canvas: &mut Canvas, setting: &Setting) {
    if !setting.scene.has(Sight::Fog) {
        return;
    }
    let colour = mix(setting.palette.horizon, setting.palette.light, 0.3);
    let reach = setting.floor * 0.42;
    for y in 0..canvas.height {
        let away = ((y as f32 - setting.skyline * 1.08) / reach).abs().min(1.0);
        let share = 0.82 * (1.0 - away * away);
        for pixel in canvas.row_mut(y) {
            *pixel = mix(*pixel, colour, share);
        }
    }
}

/// What falls in front of everything.
pub(super) fn in_front(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let scene = setting.scene;
    if scene.has(Sight::Storm) {
        lightning(canvas, draw, setting);
    }
    if scene.has(Sight::Rain) || scene.has(Sight::Storm) {
        rain(canvas, draw, setting);
    }
    let is_outside = !setting.is_inside() && setting.terrain != Terrain::Space;
    if scene.has(Sight::Snowfall) {
        snow(canvas, draw, setting, 420.0);
    } else if scene.has(Sight::Snow) && is_outside {
        snow(canvas, draw, setting, 70.0);
    }
}

fn rain(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let short = setting.short;
    let colour = mix(setting.palette.light, WHITE, 0.4);
    let area = setting.width * canvas.height as f32 / (short * short);
    for _ in 0..(area * 460.0).min(3000.0) as u32 {
        let (x, y) = (draw.unit() * setting.width * 1.1, draw.unit() * canvas.height as f32);
        let length = short * draw.between(0.02, 0.06);
        let (half, share) = (short * 0.0009, draw.between(0.12, 0.4));
        for step in 0..length as i64 {
            let at = x - step as f32 * 0.22;
            canvas.blend_span(y as i64 + step, at - half, at + half.max(0.5), colour, share);
        }
    }
}

fn snow(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, density: f32) {
    let short = setting.short;
    let area = setting.width * canvas.height as f32 / (short * short);
    for _ in 0..(area * density).min(3000.0) as u32 {
        let at = (draw.unit() * setting.width, draw.unit() * canvas.height as f32);
        let near = draw.unit();
        let radius = short * (0.0012 + 0.0042 * near * near * near);
        disc(canvas, at, radius.max(0.6), WHITE, 0.5 + 0.45 * (1.0 - near));
    }
}

fn lightning(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let short = setting.short;
    let (mut x, mut y) = (setting.width * draw.between(0.2, 0.8), 0.0);
    let colour = rgb(0xeef2ff);
    glow(canvas, (x, setting.skyline * 0.4), short * 0.6, rgb(0xaab8ff), 0.5);
    while y < setting.skyline {
        let (next_x, next_y) =
            (x + short * draw.between(-0.06, 0.06), y + short * draw.between(0.02, 0.06));
        for row in y as i64..next_y as i64 {
            let at = x + (next_x - x) * (row as f32 - y) / (next_y - y);
            let half = short * 0.003;
            canvas.blend_span(row, at - half * 3.0, at + half * 3.0, rgb(0xaab8ff), 0.3);
            canvas.blend_span(row, at - half, at + half, colour, 1.0);
        }
        (x, y) = (next_x, next_y);
    }
}
