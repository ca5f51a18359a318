//! Places that people have made: a city, a studio, a table, and a room.

use super::setting::{STREET, Setting};
use crate::paint::{
    canvas::{Area, Canvas, Colour, WHITE, mix, rgb},
    noise::{Draw, ridge},
    shapes::Shape,
    silhouette::{Light, Silhouette, shape},
    tables::Sight,
};

const TOWERS: [&str; 3] = ["officeblock", "officetower", "officesteps"];

const SIGNS: [u32; 5] = [0xff3fa4, 0x2fe6ff, 0xffd23f, 0x9a5cff, 0x4dff9a];

/// The distances of the rows of towers, from the farthest.
const ROWS: [f32; 3] = [0.0, 0.5, 1.0];

/// Rows of towers with lit windows, and neon signs.
pub(super) fn city(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
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
            let Some(tower) = Shape::named(draw.pick(&TOWERS)) else { return };
            let shade = draw.between(0.85, 1.1);
            let tall = short * draw.between(0.35, 0.6);
            // The near towers leave the view open in the middle: the street hides their feet.
            let aside = (x / setting.width - 0.5).abs() * 2.0;
            let hidden = if depth == 1.0 { tall * 0.65 * (1.0 - aside).max(0.0) } else { 0.0 };
            let colour = base.map(|part| part * shade);
            let plain = Silhouette::new(tower, colour, (x, foot + hidden), tall);
            Silhouette { light, ..plain }.paint(canvas);
            let wide = tower.wide() * tall / 100.0;
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
    let colour = setting.scene.colour_of(Sight::Neon).unwrap_or(rgb(draw.pick(&SIGNS)));
    let tall = setting.short * draw.between(0.08, 0.16);
    let at = (x, foot - setting.short * draw.between(0.02, 0.2));
    canvas.glow((x, at.1 - tall / 2.0), tall, colour, 0.55);
    shape(canvas, "neonsign", colour, at, tall);
}

/// The colours of walls.
const WALLS: [u32; 6] = [0xe8dfd0, 0xcfd9d6, 0xd9d3e0, 0xe6d2c4, 0xc9d3c0, 0xd3dbe6];

/// The colours of floors and tables.
const WOOD: u32 = 0x9c6b43;

/// A plain backdrop that meets the floor without an edge.
pub(super) fn studio(canvas: &mut Canvas, setting: &Setting) {
    let colour = setting.scene.colour_of(Sight::Studio).unwrap_or(rgb(0xe6e3de));
    let wall = setting.palette.time.lit(colour);
    let (centre, reach) = (setting.width / 2.0, setting.short * 1.1);
    let floor = setting.skyline;
    canvas.change(|x, y, _| {
        let (dx, dy) = ((x as f32 - centre) / reach, (y as f32 - floor * 0.5) / reach);
        let far = (dx * dx + dy * dy).min(1.0);
        let base = mix(wall, wall.map(|part| part * 0.9), far);
        let step = ((y as f32 - floor) / (setting.short * 0.2)).clamp(-1.0, 1.0);
        mix(base, mix(wall, WHITE, 0.3), 0.25 + 0.25 * step)
    });
}

/// The top of a table, from its far edge to the lower edge of the picture.
pub(super) fn table_top(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let own = setting.scene.colour_of(Sight::Table).unwrap_or(rgb(WOOD));
    let edge = setting.table_edge();
    planks(canvas, setting, draw.next(), own, edge, 0.12);
    let line = setting.palette.time.lit(mix(own, WHITE, 0.35));
    let height = (setting.short * 0.008).max(1.0) as i64;
    canvas.blend_rectangle(Area { y: edge as i64, height, ..canvas.area() }, line, 0.8);
}

/// A wall with a window and a picture, and a floor with a rug.
pub(super) fn room(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    wall(canvas, draw, setting);
    let (short, width, floor) = (setting.short, setting.width, setting.skyline);
    let is_left = draw.chance(0.5);
    let aside = |share: f32| width * if is_left { share } else { 1.0 - share };
    let palette = &setting.palette;
    let sky = mix(palette.zenith, palette.horizon, 0.6);
    let at = (aside(0.2), floor * 0.16 + short * 0.36);
    shape(canvas, "window", sky, at, short * 0.36);
    let colour = rgb(draw.pick(&WALLS)).map(|part| part * 0.8);
    let at = (aside(0.82), floor * 0.24 + short * 0.2);
    if let Some(frame) = Shape::named("wallpicture") {
        let light = Light { ambient: palette.time.ambient(), ..Light::PLAIN };
        Silhouette { light, ..Silhouette::new(frame, colour, at, short * 0.2) }.paint(canvas);
    }
    let board = setting.palette.time.lit(rgb(0xf4efe6));
    let height = (short * 0.03) as i64;
    let own = setting.scene.colour_of(Sight::Room).unwrap_or(rgb(0xb0855c));
    planks(canvas, setting, draw.next(), own, floor, 0.05);
    let y = floor as i64 - height;
    canvas.blend_rectangle(Area { y, height, ..canvas.area() }, board, 0.9);
    let rug = setting.palette.time.lit(rgb(draw.pick(&WALLS)));
    let (middle, tall) = (width / 2.0, (setting.floor - floor) * 1.42);
    shape(canvas, "rug", rug, (middle, floor + tall * 0.68), tall);
}

pub(super) fn wall(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let colour = setting.scene.colour_of(Sight::Studio).unwrap_or(rgb(draw.pick(&WALLS)));
    let colour = setting.scene.tint.map_or(colour, |tint| mix(colour, tint, 0.35));
    let colour = setting.palette.time.lit(colour);
    let light = (setting.light.0, setting.skyline * 0.4);
    canvas.change(|_, y, _| {
        let down = (y as f32 / setting.skyline).min(1.0);
        colour.map(|part| part * (0.98 - 0.16 * down))
    });
    canvas.glow(light, setting.width * 0.7, mix(colour, WHITE, 0.7), 0.5);
}

/// Boards of wood that run to the sides, from `top` down.
fn planks(canvas: &mut Canvas, setting: &Setting, seed: u64, own: Colour, top: f32, gap: f32) {
    let short = setting.short;
    let colour = setting.palette.time.lit(own);
    let room = (canvas.height as f32 - top).max(1.0);
    for y in top.max(0.0) as usize..canvas.height {
        let down = (y as f32 - top) / room;
        // Boards are wider near the viewer.
        let board = down * (0.5 + 0.5 * down) * room / (short * gap);
        let seam = if board.fract() < 0.06 / (0.3 + down) { 0.8 } else { 1.0 };
        let row = board as u64;
        for (x, pixel) in canvas.row_mut(y).iter_mut().enumerate() {
            let grain = ridge(seed.wrapping_add(row), x as f32 / short * 1.6 + down * 9.0, 4) - 0.5;
            let shade = seam * (0.92 + 0.22 * grain + 0.12 * down);
            *pixel = colour.map(|part| part * shade);
        }
    }
}
