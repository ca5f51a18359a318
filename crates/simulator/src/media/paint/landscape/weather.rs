//! Weather in front of the scenery: fog, rain, snowfall, lightning.

use super::{
    super::{
        canvas::{Canvas, WHITE, mix, rgb},
        noise::Draw,
        silhouette::Light,
        tables::Sight,
    },
    brushes::{disc, glow, shape},
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
    let (x, tall) = (setting.width * draw.between(0.2, 0.8), setting.skyline);
    glow(canvas, (x, tall * 0.4), setting.short * 0.6, rgb(0xaab8ff), 0.5);
    shape(canvas, "lightning", WHITE, (x, tall), tall, Light::PLAIN);
}
