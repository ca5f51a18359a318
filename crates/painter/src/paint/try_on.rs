//! Try-on: garments on the torso of a person.
//!
//! The simulator cannot see where the person is. It takes the place where the torso is in the
//! portraits that it paints.

use image::{GrayImage, Rgba, RgbaImage, imageops};

use super::{
    canvas::{Area, Canvas, mix},
    caption, cards, edit, fit, landscape,
    picture::Picture,
};
use crate::images::Input;

/// Corners that differ by more than this have no common background.
const SAME: u8 = 24;

/// The person of a try-on: the field whose name starts with `person` or `model`, or else the first
/// image. All other images are garments.
pub fn person(inputs: &[Input]) -> Option<&Input> {
    let named =
        |input: &&Input| ["person", "model"].iter().any(|name| input.place.starts_with(name));
    inputs.iter().find(named).or(inputs.first())
}

/// The person fills the picture, and wears the garments.
pub(super) fn paint(picture: &Picture) -> Option<RgbaImage> {
    let person = person(&picture.inputs)?;
    let mut canvas = Canvas::of(&fit::contain(&person.decode()?, picture.size));
    let garments: Vec<_> =
        picture.inputs.iter().filter(|input| input.place != person.place).collect();
    let free = caption::above(&canvas, picture);
    let torso = landscape::torso(&canvas, caption::floor(&canvas), free.height);
    let areas = match garments.len() {
        1 => vec![torso],
        several => cards::cells(several, torso),
    };
    for (garment, area) in garments.into_iter().zip(areas) {
        match garment.decode() {
            Some(image) => wear(&mut canvas, &cut_out(image), area),
            None => cards::paint(&mut canvas, &[garment], area),
        }
    }
    Some(caption::paint(canvas, picture))
}

/// Puts a garment on a part of the torso, as wide as that if possible. The end of a long one is
/// cropped.
fn wear(canvas: &mut Canvas, garment: &RgbaImage, area: Area) {
    let longest = Area { height: area.height * 7 / 5, ..area };
    let Some(size) = longest.size() else { return };
    let garment = fit::contain(garment, size);
    let left = area.x + (area.width - i64::from(garment.width())) / 2;
    let middle = garment.width() as f32 / 2.0;
    for (x, y, pixel) in garment.enumerate_pixels().filter(|at| i64::from(at.1) < area.height) {
        let [r, g, b, a] = pixel.0.map(|part| f32::from(part) / 255.0);
        // The body is round: the sides are in shadow.
        let aside = (x as f32 + 0.5 - middle) / middle;
        let shade = 1.0 - 0.16 * aside * aside * aside * aside;
        let at = (left + i64::from(x), area.y + i64::from(y));
        canvas.blend(at.0, at.1, mix([0.0; 3], [r, g, b], shade), a);
    }
}

/// The garment without its background, if that is plain: if the corners have the same colour.
fn cut_out(image: RgbaImage) -> RgbaImage {
    let (right, bottom) = (image.width() - 1, image.height() - 1);
    // A caption may be at the lower edge.
    let corners = [(0, 0), (right, 0), (0, bottom / 2), (right, bottom / 2)];
    let corners = corners.map(|(x, y)| image.get_pixel(x, y).0);
    let is_same = |corner: &[u8; 4]| {
        corner.iter().zip(corners[0]).all(|(part, first)| part.abs_diff(first) <= SAME)
    };
    if !corners.iter().all(is_same) {
        return image;
    }
    let plain = [0, 1, 2].map(|part| {
        corners.iter().map(|corner| f32::from(corner[part])).sum::<f32>() / corners.len() as f32
    });
    let is_plain = |x: u32, y: u32| is_ground(image.get_pixel(x, y), plain);
    let is_captioned = |y: &u32| !is_plain(0, *y) && !is_plain(right, *y);
    let rows = image.height() - (0..=bottom).rev().take_while(is_captioned).count() as u32;
    // The outermost pixels are a blend with the background.
    let mut cover = edit::dilated(&ground((image.width(), rows), is_plain), 1);
    imageops::invert(&mut cover);
    let (x, y, width, height) = edit::bounds(&cover);
    if width == 0 {
        return image;
    }
    let mut cut = image.clone();
    for (x, y, cover) in cover.enumerate_pixels() {
        cut.get_pixel_mut(x, y).0[3] &= cover.0[0];
    }
    imageops::crop_imm(&cut, x, y, width, height).to_image()
}

/// The plain parts that reach in from the edges of an area, up to the garment.
fn ground((width, height): (u32, u32), is_plain: impl Fn(u32, u32) -> bool) -> GrayImage {
    let mut ground = GrayImage::new(width, height);
    let across = (0..width).flat_map(|x| [(x, 0), (x, height.saturating_sub(1))]);
    let down = (0..height).flat_map(|y| [(0, y), (width - 1, y)]);
    let mut open: Vec<_> = across.chain(down).collect();
    while let Some((x, y)) = open.pop() {
        let Some(pixel) = ground.get_pixel_mut_checked(x, y) else { continue };
        if pixel.0[0] == 0 && is_plain(x, y) {
            pixel.0[0] = 255;
            // Positions outside may wrap around to those that no picture has.
            open.extend([(x.wrapping_sub(1), y), (x + 1, y), (x, y.wrapping_sub(1)), (x, y + 1)]);
        }
    }
    ground
}

/// Whether a pixel has the colour of the background, or of a shadow on it.
fn is_ground(pixel: &Rgba<u8>, plain: [f32; 3]) -> bool {
    const HUE: f32 = 22.0;
    /// Light things on a light background are hardly lighter.
    const LIGHTER: f32 = 12.0;
    const SHADOW: f32 = 105.0;
    let [r, g, b] = [0, 1, 2].map(|part| f32::from(pixel.0[part]) - plain[part]);
    let hue = r.max(g).max(b) - r.min(g).min(b);
    hue < HUE && (-SHADOW..LIGHTER).contains(&((r + g + b) / 3.0))
}
