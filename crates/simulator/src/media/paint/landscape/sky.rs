//! The sky: its gradient, sun and moon, clouds, a rainbow, birds.

use super::{
    super::{
        canvas::{Canvas, WHITE, mix, rgb},
        noise::Draw,
        silhouette::Light,
        tables::Sight,
    },
    brushes::{disc, glow, haze, shape},
    night_sky,
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
    clouds(canvas, draw, setting);
    if scene.has(Sight::Rainbow) {
        let at = (setting.width - setting.light.0, setting.skyline * 1.1);
        shape(canvas, "rainbow", WHITE, at, setting.short * 0.62, Light::PLAIN);
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

fn clouds(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let (palette, scene) = (&setting.palette, setting.scene);
    let (seed, cover) = (draw.next(), draw.between(0.5, 0.64));
    let is_dull = [Sight::Clouds, Sight::Rain, Sight::Storm].iter().any(|sight| scene.has(*sight));
    let cover = if is_dull { cover - 0.16 } else { cover };
    let strength = if setting.is_night() { 0.2 } else { 0.75 };
    let mut colour = mix(palette.light, palette.horizon, 0.35);
    if scene.has(Sight::Storm) {
        colour = mix(colour, palette.zenith, 0.8).map(|part| part * 0.7);
    } else if scene.has(Sight::Rain) {
        colour = mix(colour, palette.zenith, 0.55);
    }
    // Valleys reach below the skyline.
    let lower = ((setting.skyline * 1.2) as usize).min(canvas.height);
    haze(canvas, seed, lower, (colour, strength), 2.6, |thick| (thick - cover) * 4.5);
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
