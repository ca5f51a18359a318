//! The sky: its gradient, sun and moon, clouds, a rainbow, birds.

use super::{
    super::{
        canvas::{Canvas, mix, rgb},
        noise::Draw,
        tables::Sight,
    },
    brushes::{disc, glow},
    clouds, night_sky,
    setting::Setting,
};

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let palette = &setting.palette;
    for y in 0..canvas.height {
        let fall = (y as f32 / setting.skyline).min(1.0);
        let row = mix(palette.zenith, palette.horizon, fall * fall * 0.55 + fall * 0.45);
        canvas.row_mut(y).fill(row);
    }
    if setting.is_night() {
        night_sky::paint(canvas, draw, setting);
    }
    let scene = setting.scene;
    let is_hidden = scene.has(Sight::Storm) || scene.has(Sight::Rain) || scene.has(Sight::Fog);
    if !is_hidden || scene.has(Sight::Sun) || scene.has(Sight::Moon) {
        light(canvas, draw, setting);
    }
    clouds::paint(canvas, draw, setting);
    if scene.has(Sight::Rainbow) {
        rainbow(canvas, setting);
    }
    if scene.has(Sight::Fireworks) {
        night_sky::fireworks(canvas, draw, setting);
    }
    if !setting.is_night() && !is_hidden {
        birds(canvas, draw, setting);
    }
}

/// The sun, or the moon at night or by request.
fn light(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let (palette, short, at) = (&setting.palette, setting.short, setting.light);
    let scene = setting.scene;
    let asked = scene.has(Sight::Sun) || scene.has(Sight::Moon);
    let radius = short * draw.between(0.035, 0.06) * if asked { 1.7 } else { 1.0 };
    let is_moon = setting.is_night() && !scene.has(Sight::Sun) || scene.has(Sight::Moon);
    glow(canvas, at, short * 0.8, palette.light, if is_moon { 0.28 } else { 0.6 });
    glow(canvas, at, radius * 2.6, palette.light, 0.5);
    let colour = scene.colour_of(Sight::Moon).or(scene.colour_of(Sight::Sun));
    let colour = colour.map_or(palette.light, |colour| mix(colour, palette.light, 0.35));
    disc(canvas, at, radius, colour, 0.97);
    if is_moon {
        let dark = mix(colour, palette.zenith, 0.16);
        for (dx, dy, size) in
            [(-0.3, -0.25, 0.26), (0.3, 0.1, 0.2), (-0.1, 0.42, 0.16), (0.32, -0.42, 0.12)]
        {
            disc(canvas, (at.0 + dx * radius, at.1 + dy * radius), size * radius, dark, 0.8);
        }
    }
}

fn rainbow(canvas: &mut Canvas, setting: &Setting) {
    const BANDS: [u32; 7] = [0xe8453c, 0xf2913d, 0xf7d94c, 0x5cc46a, 0x3f8fe0, 0x4a55c4, 0x8a4fc0];
    let reach = setting.short * 0.62;
    let centre = (setting.width - setting.light.0, setting.skyline * 1.1);
    let band = setting.short * 0.014;
    for y in 0..(setting.skyline as usize).min(canvas.height) {
        let dy = centre.1 - y as f32;
        let row = canvas.row_mut(y);
        for (x, pixel) in row.iter_mut().enumerate() {
            let dx = x as f32 - centre.0;
            let at = (reach - (dx * dx + dy * dy).sqrt()) / band;
            if at > -1.0 && at < BANDS.len() as f32 {
                let (left, right) = (at.floor(), at.floor() + 1.0);
                let colour = |at: f32| BANDS.get(at as usize).map_or([1.0; 3], |hex| rgb(*hex));
                let edge = (at + 1.0).min(BANDS.len() as f32 - at).clamp(0.0, 1.0);
                let share = 0.5 * edge * (0.35 + 0.65 * dy / reach).clamp(0.0, 1.0);
                *pixel = mix(*pixel, mix(colour(left.max(0.0)), colour(right), at - left), share);
            }
        }
    }
}

fn birds(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let short = setting.short;
    if short < 200.0 || draw.chance(0.4) {
        return;
    }
    let flock = (draw.unit() * setting.width, setting.skyline * draw.between(0.2, 0.5));
    let colour = mix(setting.palette.near, rgb(0x202030), 0.5);
    for _ in 0..3 + draw.next() % 5 {
        let (x, y) = (
            flock.0 + draw.between(-0.12, 0.12) * short,
            flock.1 + draw.between(-0.06, 0.06) * short,
        );
        let wing = short * draw.between(0.008, 0.014);
        let steps = (wing * 2.0) as i64;
        for step in -steps..=steps {
            let along = step as f32 / steps.max(1) as f32;
            let lift = (1.0 - (along.abs() * 2.0 - 1.0).powi(2)) * wing * 0.55;
            let (px, py) = (x + along * wing, y - lift + along.abs() * wing * 0.1);
            canvas.blend(px as i64, py as i64, colour, 0.7);
            canvas.blend(px as i64, py as i64 + 1, colour, 0.3);
        }
    }
}
