//! Places inside: a table, and a room.

use super::{
    super::{
        canvas::{Area, Canvas, Colour, WHITE, mix, rgb},
        noise::{Draw, ridge},
        silhouette::Light,
        tables::Sight,
    },
    brushes::{glow, shape},
    setting::Setting,
};

/// The colours of walls.
const WALLS: [u32; 6] = [0xe8dfd0, 0xcfd9d6, 0xd9d3e0, 0xe6d2c4, 0xc9d3c0, 0xd3dbe6];

/// The colours of floors and tables.
const WOOD: u32 = 0x9c6b43;

/// The top of a table, from its far edge to the lower edge of the picture.
pub(super) fn table_top(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let own = setting.scene.colour_of(Sight::Table).unwrap_or(rgb(WOOD));
    let edge = setting.table_edge();
    planks(canvas, draw, setting, own, edge, 0.12);
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
    shape(canvas, "window", sky, at, short * 0.36, Light::PLAIN);
    let colour = rgb(WALLS[draw.next() as usize % WALLS.len()]).map(|part| part * 0.8);
    let light = Light { ambient: palette.time.ambient(), ..Light::PLAIN };
    let at = (aside(0.82), floor * 0.24 + short * 0.2);
    shape(canvas, "wallpicture", colour, at, short * 0.2, light);
    let board = setting.palette.time.lit(rgb(0xf4efe6));
    let height = (short * 0.03) as i64;
    let own = setting.scene.colour_of(Sight::Room).unwrap_or(rgb(0xb0855c));
    planks(canvas, draw, setting, own, floor, 0.05);
    let y = floor as i64 - height;
    canvas.blend_rectangle(Area { y, height, ..canvas.area() }, board, 0.9);
    let rug = setting.palette.time.lit(rgb(WALLS[draw.next() as usize % WALLS.len()]));
    let (middle, tall) = (width / 2.0, (setting.floor - floor) * 1.42);
    shape(canvas, "rug", rug, (middle, floor + tall * 0.68), tall, Light::PLAIN);
}

pub(super) fn wall(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    let own = setting.scene.colour_of(Sight::Studio);
    let colour = own.unwrap_or(rgb(WALLS[draw.next() as usize % WALLS.len()]));
    let colour =
        setting.palette.time.lit(setting.scene.tint.map_or(colour, |tint| mix(colour, tint, 0.35)));
    let light = (setting.light.0, setting.skyline * 0.4);
    for y in 0..canvas.height {
        let down = (y as f32 / setting.skyline).min(1.0);
        canvas.row_mut(y).fill(colour.map(|part| part * (0.98 - 0.16 * down)));
    }
    glow(canvas, light, setting.width * 0.7, mix(colour, WHITE, 0.7), 0.5);
}

/// Boards of wood that run to the sides, from `top` down.
fn planks(
    canvas: &mut Canvas,
    draw: &mut Draw,
    setting: &Setting,
    own: Colour,
    top: f32,
    gap: f32,
) {
    let (seed, short) = (draw.next(), setting.short);
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
