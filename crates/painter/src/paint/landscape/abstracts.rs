//! Pictures without a place: patterns, abstract forms, and badges such as logos.

use super::paint;
use crate::paint::{
    canvas::{Canvas, Colour, WHITE, mix, rgb},
    noise::{Draw, cloud},
    scene::Scene,
    silhouette::{Silhouette, shape},
    tables::Sight,
};

/// Colours that go together.
const SCHEMES: [[u32; 4]; 5] = [
    [0xf4ede0, 0xe4572e, 0x29335c, 0xf3a712],
    [0xfdf6ec, 0x2a9d8f, 0xe76f51, 0x264653],
    [0xf7f0f5, 0x7b2d8b, 0xf08a5d, 0x3d5a80],
    [0xeef4ed, 0x134074, 0x8da9c4, 0xf25f5c],
    [0xfff8e7, 0x5b8e7d, 0xbc4b51, 0xf4a259],
];

/// The shapes of forms in an abstract picture, and their number.
const FORMS: [&str; 4] = ["circle", "annulus", "square", "triangle"];
const COUNT: u32 = 26;

/// A ground colour and those of forms, which are those of the prompt if it names any.
fn scheme(scene: &Scene, draw: &mut Draw) -> [Colour; 4] {
    let mut scheme = draw.pick(&SCHEMES).map(rgb);
    if !scene.colours.is_empty() {
        for (index, colour) in scheme.iter_mut().skip(1).enumerate() {
            let own = scene.colours[index % scene.colours.len()];
            *colour = if index < scene.colours.len() { own } else { mix(own, WHITE, 0.45) };
        }
    }
    scheme
}

/// Circles, rings, squares and triangles.
pub(super) fn forms(canvas: &mut Canvas, draw: &mut Draw, scene: &Scene) {
    let scheme = scheme(scene, draw);
    canvas.change(|_, _, _| scheme[0]);
    let (width, height, short) = (canvas.width as f32, canvas.height as f32, canvas.short());
    for number in 0..COUNT {
        let colour = scheme[1 + draw.next() as usize % 3];
        let tall = short * draw.between(0.1, 0.48) * (1.2 - number as f32 / COUNT as f32);
        let at = (draw.unit() * width, draw.unit() * height + tall / 2.0);
        shape(canvas, draw.pick(&FORMS), colour, at, tall);
    }
}

/// Bands of colour that flow around each other.
pub(super) fn swirls(canvas: &mut Canvas, draw: &mut Draw, scene: &Scene) {
    const BANDS: f32 = 13.0;
    let (scheme, seed, short) = (scheme(scene, draw), draw.next(), canvas.short());
    canvas.change(|x, y, _| {
        let (x, y) = (x as f32 / short * 2.2, y as f32 / short * 2.2);
        let (dx, dy) = (cloud(seed, x, y, 3), cloud(seed ^ 1, x, y, 3));
        let height = cloud(seed ^ 2, x + dx * 3.0, y + dy * 3.0, 2) * BANDS;
        let (band, within) = (height as usize, height.fract());
        let (this, next) = (scheme[band % 4], scheme[(band + 1) % 4]);
        mix(this, next, ((within - 0.85) / 0.15).max(0.0)).map(|part| part * (0.85 + 0.15 * within))
    });
}

/// The things of the prompt in rows. There is at least one.
pub(super) fn rows(canvas: &mut Canvas, draw: &mut Draw, scene: &Scene) {
    const ACROSS: f32 = 5.0;
    let ground = scheme(scene, draw)[0];
    let own = scene.colour_of(Sight::Pattern).or(scene.tint).unwrap_or(ground);
    canvas.change(|_, _, _| mix(ground, own, 0.5));
    let cell = canvas.width as f32 / ACROSS;
    for row in 0..(canvas.height as f32 / cell) as usize + 2 {
        for column in 0..ACROSS as usize + 2 {
            let subject = &scene.subjects[(row + column) % scene.subjects.len()];
            let shift = if row % 2 == 0 { 0.0 } else { 0.5 };
            let (shape, colour) = (subject.shape, subject.colour);
            let tall = (cell * 0.66).min(cell * 66.0 / shape.wide());
            let at = ((column as f32 - shift) * cell, row as f32 * cell + tall / 2.0);
            let is_flipped = (row + column) % 2 == 1;
            Silhouette { is_flipped, ..Silhouette::new(shape, colour, at, tall) }.paint(canvas);
        }
    }
}

/// A round badge that shows the scene.
pub(super) fn badge(canvas: &mut Canvas, scene: &Scene, key: &[u8; 32], floor: f32) {
    let mut draw = Draw::new(key);
    let [ground, ring, ..] = scheme(scene, &mut draw);
    let ground = scene.colour_of(Sight::Badge).unwrap_or(mix(ground, WHITE, 0.4));
    canvas.change(|_, _, _| ground);
    let side = (floor.min(canvas.width as f32) * 0.88).max(1.0);
    let (left, top) = ((canvas.width as f32 - side) / 2.0, (floor - side) / 2.0);
    let mut inner = Canvas::new((side.ceil() as u32, side.ceil() as u32));
    paint(&mut inner, &scene.in_badge(mix(ring, WHITE, 0.72)), key, side);
    let middle = (left + side / 2.0, top + side / 2.0);
    canvas.disc(middle, side / 2.0, ring, 1.0);
    let radius = side / 2.0 * 0.93;
    for y in 0..inner.height {
        for (x, colour) in inner.row(y).iter().enumerate() {
            let (dx, dy) = (x as f32 + 0.5 - side / 2.0, y as f32 + 0.5 - side / 2.0);
            let covered = (radius - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0);
            canvas.blend(left as i64 + x as i64, top as i64 + y as i64, *colour, covered);
        }
    }
}
