//! The sky by day and at night, space, and weather in front of the scenery.

use super::setting::Setting;
use crate::paint::{
    canvas::{Canvas, Colour, WHITE, mix, rgb},
    noise::{Draw, cloud},
    silhouette::shape,
    tables::Sight,
};

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let palette = &setting.palette;
    canvas.change(|_, y, _| {
        let fall = (y as f32 / setting.skyline).min(1.0);
        mix(palette.zenith, palette.horizon, fall * fall * 0.55 + fall * 0.45)
    });
    if setting.is_night() {
        night(canvas, draw, setting);
    }
    let scene = setting.scene;
    let is_hidden = scene.has(Sight::Storm) || scene.has(Sight::Rain) || scene.has(Sight::Fog);
    if !is_hidden || scene.has(Sight::Sun) || scene.has(Sight::Moon) {
        light(canvas, draw, setting);
    }
    clouds(canvas, draw, setting);
    if scene.has(Sight::Rainbow) {
        let at = (setting.width - setting.light.0, setting.skyline * 1.1);
        shape(canvas, "rainbow", WHITE, at, setting.short * 0.62);
    }
    if scene.has(Sight::Fireworks) {
        fireworks(canvas, draw, setting);
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
    canvas.glow(at, short * 0.8, palette.light, if is_moon { 0.28 } else { 0.6 });
    canvas.glow(at, radius * 2.6, palette.light, 0.5);
    let colour = scene.colour_of(Sight::Moon).or(scene.colour_of(Sight::Sun));
    let colour = colour.map_or(palette.light, |colour| mix(colour, palette.light, 0.35));
    canvas.disc(at, radius, colour, 0.97);
    if is_moon {
        let dark = mix(colour, palette.zenith, 0.16);
        for (dx, dy, size) in
            [(-0.3, -0.25, 0.26), (0.3, 0.1, 0.2), (-0.1, 0.42, 0.16), (0.32, -0.42, 0.12)]
        {
            canvas.disc((at.0 + dx * radius, at.1 + dy * radius), size * radius, dark, 0.8);
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
    canvas.haze(lower, (colour, strength), |(x, y)| (cloud(seed, x, y * 2.6, 4) - cover) * 4.5);
}

fn birds(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let short = setting.short;
    if short < 200.0 || draw.chance(0.4) {
        return;
    }
    let flock = (draw.unit() * setting.width, setting.skyline * draw.between(0.2, 0.5));
    let colour = mix(setting.palette.near, rgb(0x202030), 0.5);
    for _ in 0..3 + draw.next() % 5 {
        let x = flock.0 + draw.between(-0.12, 0.12) * short;
        let y = flock.1 + draw.between(-0.06, 0.06) * short;
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

/// Stars, the milky way, an aurora.
fn night(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
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
        let thick = |(x, y)| (cloud(seed, x, y * stretch, 4) - cover) * 3.0;
        canvas.haze(rows, (*colour, 0.6), thick);
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
            canvas.disc((x, y), short * 0.0018, colour, shine);
            canvas.glow((x, y), short * 0.011, colour, shine * 0.5);
        }
    }
}

fn fireworks(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    const SPARKS: [u32; 5] = [0xff5a5a, 0xffd24a, 0x6ad0ff, 0xd07aff, 0x7aff9a];
    let own = setting.scene.colour_of(Sight::Fireworks);
    for _ in 0..5 {
        let colour = own.unwrap_or(rgb(draw.pick(&SPARKS)));
        let at =
            (setting.width * draw.between(0.1, 0.9), setting.skyline * draw.between(0.15, 0.6));
        let reach = setting.short * draw.between(0.08, 0.17);
        canvas.glow(at, reach * 1.7, colour, 0.35);
        shape(canvas, "firework", colour, (at.0, at.1 + reach), reach * 2.0);
    }
}

/// Space: stars, a nebula and a planet with a ring.
pub(super) fn space(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    const PLANETS: [u32; 4] = [0xd98a5a, 0x5a9ad9, 0xc9a86a, 0x8a6ad0];
    let height = canvas.height as f32;
    let lower = mix(setting.palette.zenith, rgb(0x120a2a), 0.5);
    canvas.change(|_, y, _| mix(rgb(0x04040e), lower, y as f32 / height));
    let own = setting.scene.colour_of(Sight::Space);
    let colours = [0x7a3fd0, 0x1f7fc0, 0xe0508a].map(|hex| own.unwrap_or(rgb(hex)));
    veils(canvas, draw, height, &colours, 1.0);
    stars(canvas, draw, setting, height, 1.6);
    let tall = setting.short * draw.between(0.28, 0.4);
    let (x, y) = (setting.width * draw.between(0.2, 0.8), setting.floor * draw.between(0.26, 0.36));
    let colour = rgb(draw.pick(&PLANETS));
    canvas.glow((x, y), tall * 0.85, colour, 0.4);
    shape(canvas, "planet", colour, (x, y + tall / 2.0), tall);
}

/// Fog between the scenery and the foreground.
pub(super) fn fog(canvas: &mut Canvas, setting: &Setting) {
    if !setting.scene.has(Sight::Fog) {
        return;
    }
    let colour = mix(setting.palette.horizon, setting.palette.light, 0.3);
    let reach = setting.floor * 0.42;
    canvas.change(|_, y, old| {
        let away = ((y as f32 - setting.skyline * 1.08) / reach).abs().min(1.0);
        mix(old, colour, 0.82 * (1.0 - away * away))
    });
}

/// What falls in front of everything.
pub(super) fn weather(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let scene = setting.scene;
    if scene.has(Sight::Storm) {
        let (x, tall) = (setting.width * draw.between(0.2, 0.8), setting.skyline);
        canvas.glow((x, tall * 0.4), setting.short * 0.6, rgb(0xaab8ff), 0.5);
        shape(canvas, "lightning", WHITE, (x, tall), tall);
    }
    if scene.has(Sight::Rain) || scene.has(Sight::Storm) {
        rain(canvas, draw, setting);
    }
    let is_outside = !setting.is_inside() && setting.terrain != Sight::Space;
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
        canvas.disc(at, radius.max(0.6), WHITE, 0.5 + 0.45 * (1.0 - near));
    }
}
