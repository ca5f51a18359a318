//! The painting: sky, ground, water and weather, and what the prompt shows in them.

mod city;
mod clouds;
mod colours;
mod firs;
mod ground;
mod hills;
mod mountains;
mod night_sky;
mod setting;
mod sky;
mod space;
mod subjects;
mod water;
mod weather;

use image::DynamicImage;

use self::setting::{Setting, Terrain};
use super::{
    canvas::{Area, Canvas, mix},
    noise::Draw,
    scene::Scene,
};

/// The background of a portrait is painted smaller by this factor, so that it is out of focus.
const BLUR: u32 = 14;

/// Paints the scene. What it shows is above `floor`; the part below may be covered by a caption.
pub(super) fn paint(canvas: &mut Canvas, scene: &Scene, key: &[u8; 32], floor: f32) {
    let mut draw = Draw::new(key);
    if scene.is_portrait() {
        let small = |side: usize| (side as u32).div_ceil(BLUR).max(2);
        let mut ground = Canvas::new(small(canvas.width), small(canvas.height));
        let setting = Setting::new(&ground, scene, &mut draw, floor / BLUR as f32);
        scenery(&mut ground, &mut draw, &setting);
        let ground = DynamicImage::from(ground.into_image()).fast_blur(1.2).into_rgba8();
        let ground = Canvas::of(&ground);
        let (width, height) = (canvas.width as f32, canvas.height as f32);
        canvas.change(|x, y, _| ground.at((x as f32 + 0.5) / width, (y as f32 + 0.5) / height));
    }
    let setting = Setting::new(canvas, scene, &mut Draw::new(key), floor);
    if !scene.is_portrait() {
        scenery(canvas, &mut draw, &setting);
    }
    subjects::paint(canvas, &mut draw, &setting);
    weather::in_front(canvas, &mut draw, &setting);
}

/// Where the torso is in a portrait, down to `floor`.
pub(super) fn torso(canvas: &Canvas, floor: f32) -> Area {
    /// From the neck on, and between the shoulders, in heights of the bust.
    const NECK: f32 = 0.75;
    const SHOULDERS: f32 = 1.12;
    let width = canvas.width as f32;
    let (top, tall) = subjects::bust(width, floor);
    let (wide, neck) = (tall * SHOULDERS, top + tall * NECK);
    Area {
        x: ((width - wide) / 2.0) as i64,
        y: neck as i64,
        width: wide as i64,
        height: (floor - neck) as i64,
    }
}

fn scenery(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    match setting.terrain {
        Terrain::Studio => return ground::studio(canvas, setting),
        Terrain::Space => space::paint(canvas, draw, setting),
        _ => sky::paint(canvas, draw, setting),
    }
    hills::far(canvas, draw, setting);
    match setting.terrain {
        Terrain::City => city::paint(canvas, draw, setting),
        Terrain::Sea => water::sea(canvas, draw, setting),
        Terrain::Forest => firs::forest(canvas, draw, setting),
        Terrain::Land => hills::near(canvas, draw, setting),
        Terrain::Space | Terrain::Studio => {}
    }
    weather::between(canvas, setting);
    if setting.has_lake {
        water::lake(canvas, draw, setting);
    }
    if let Some(bank) = &setting.bank {
        ground::bank(canvas, draw, setting, bank);
    }
}

/// Adds light around a point, which fades with the distance.
fn glow(canvas: &mut Canvas, at: (f32, f32), reach: f32, colour: [f32; 3], strength: f32) {
    let rows = (at.1 - reach).max(0.0) as usize..((at.1 + reach).max(0.0) as usize);
    let width = canvas.width;
    for y in rows.start..rows.end.min(canvas.height) {
        let dy = y as f32 + 0.5 - at.1;
        let half = (reach * reach - dy * dy).max(0.0).sqrt();
        let end = ((at.0 + half).max(0.0) as usize).min(width);
        let start = ((at.0 - half).max(0.0) as usize).min(end);
        let row = canvas.row_mut(y).get_mut(start..end).unwrap_or_default();
        let mut dx = start as f32 + 0.5 - at.0;
        for pixel in row {
            let near = (1.0 - (dx * dx + dy * dy) / (reach * reach)).max(0.0);
            *pixel = mix(*pixel, colour, near * near * near * strength);
            dx += 1.0;
        }
    }
}

/// Paints a disc.
fn disc(canvas: &mut Canvas, at: (f32, f32), radius: f32, colour: [f32; 3], share: f32) {
    oval(canvas, at, (radius, radius), colour, share);
}

/// Paints an ellipse.
fn oval(
    canvas: &mut Canvas,
    at: (f32, f32),
    (across, down): (f32, f32),
    colour: [f32; 3],
    share: f32,
) {
    for y in (at.1 - down).floor() as i64..=(at.1 + down).ceil() as i64 {
        let dy = (y as f32 + 0.5 - at.1) / down.max(0.01);
        let half = (1.0 - dy * dy).max(0.0).sqrt() * across;
        canvas.blend_span(y, at.0 - half, at.0 + half, colour, share);
    }
}
