//! A city: rows of towers with lit windows, and neon signs.

use super::{
    super::{
        canvas::{Canvas, WHITE, mix, rgb},
        noise::Draw,
        silhouette::Light,
        tables::Sight,
    },
    brushes::{glow, shape},
    setting::{STREET, Setting},
};

const TOWERS: [&str; 3] = ["officeblock", "officetower", "officesteps"];

const SIGNS: [u32; 5] = [0xff3fa4, 0x2fe6ff, 0xffd23f, 0x9a5cff, 0x4dff9a];

/// The distances of the rows of towers, from the farthest.
const ROWS: [f32; 3] = [0.0, 0.5, 1.0];

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let (short, palette) = (setting.short, &setting.palette);
    let street = setting.floor * STREET;
    for depth in ROWS {
        let foot = setting.skyline + (street - setting.skyline) * (0.3 + 0.7 * depth);
        let base = mix(setting.ground(depth), palette.near, 0.45);
        let base = setting.scene.colour_of(Sight::City).map_or(base, |own| mix(base, own, 0.4));
        let light = Light {
            ambient: WHITE,
            has_lamps: palette.is_dusky(),
            haze: (palette.horizon, 0.55 * (1.0 - depth)),
        };
        let mut x = -short * draw.between(0.0, 0.1);
        while x < setting.width {
            let tower = TOWERS[draw.next() as usize % TOWERS.len()];
            let shade = draw.between(0.85, 1.1);
            let tall = short * draw.between(0.35, 0.6);
            // The near towers leave the view open in the middle: the street hides their feet.
            let aside = (x / setting.width - 0.5).abs() * 2.0;
            let hidden = if depth == 1.0 { tall * 0.65 * (1.0 - aside).max(0.0) } else { 0.0 };
            let at = (x, foot + hidden);
            let wide = shape(canvas, tower, base.map(|part| part * shade), at, tall, light);
            if setting.scene.has(Sight::Neon) && depth > 0.4 && draw.chance(0.75) {
                let aside = wide * draw.between(-0.3, 0.3);
                sign(canvas, draw, setting, (x + aside, foot));
            }
            x += wide * draw.between(0.9, 1.25);
        }
    }
}

/// A neon sign above the foot of a tower.
fn sign(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, (x, foot): (f32, f32)) {
    let own = setting.scene.colour_of(Sight::Neon);
    let colour = own.unwrap_or(rgb(SIGNS[draw.next() as usize % SIGNS.len()]));
    let tall = setting.short * draw.between(0.08, 0.16);
    let at = (x, foot - setting.short * draw.between(0.02, 0.2));
    glow(canvas, (x, at.1 - tall / 2.0), tall, colour, 0.55);
    shape(canvas, "neonsign", colour, at, tall, Light::PLAIN);
}
