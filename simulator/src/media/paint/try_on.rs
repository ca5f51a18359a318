//! Try-on: garments on the torso of a person.
//!
//! The simulator cannot see where the person is. It takes the place where the torso is in the
//! portraits that it paints.

use image::{GrayImage, Luma, Rgba, RgbaImage};

use super::{
    canvas::{Area, Canvas, mix},
    caption, cards, fit, landscape,
    mask::{self, PixelPosition},
    picture::Picture,
};
use crate::media::images::Input;

/// Corners that differ by more than this have no common background.
const SAME: u8 = 24;

/// Pixels that differ from the background by less than this belong to it.
const NEAR: f32 = 22.0;

/// The person of a try-on: the field whose name starts with `person` or `model`, or else the first
/// image. All other images are garments.
pub(crate) fn person(inputs: &[Input]) -> Option<&Input> {
    let named =
        |input: &&Input| ["person", "model"].iter().any(|name| input.place.starts_with(name));
    inputs.iter().find(named).or(inputs.first())
}

/// The person fills the picture, and wears the garments.
pub(super) fn paint(picture: &Picture) -> Option<RgbaImage> {
    let person = person(&picture.inputs)?;
    let (width, height) = picture.size;
    let mut canvas = Canvas::of(&fit::contain(&person.decode()?, width, height));
    let garments: Vec<_> =
        picture.inputs.iter().filter(|input| input.place != person.place).collect();
    let free = caption::above(&canvas, picture);
    let torso = landscape::torso(&canvas, caption::floor(&canvas));
    let torso = Area { height: (free.height - torso.y).max(0), ..torso };
    match garments.as_slice() {
        [garment] => match garment.decode() {
            Some(image) => wear(&mut canvas, &image, torso),
            None => cards::paint(&mut canvas, &garments, torso),
        },
        several => {
            for (garment, area) in several.iter().zip(cards::cells(several.len(), torso)) {
                match garment.decode() {
                    Some(image) => put(&mut canvas, &cut_out(image), area),
                    None => cards::paint(&mut canvas, &[garment], area),
                }
            }
        }
    }
    caption::paint(&mut canvas, picture);
    Some(canvas.into_image_with_alpha())
}

/// Puts a garment on the torso, as wide as the torso. A longer one is cropped.
fn wear(canvas: &mut Canvas, image: &RgbaImage, torso: Area) {
    let garment = cut_out(image.clone());
    let (wide, tall) = (i64::from(garment.width()), i64::from(garment.height()));
    let area = Area { height: (torso.width * tall / wide.max(1)).max(1), ..torso };
    // A long garment is made narrower, down to a half.
    let narrow = (area.height as f32 / (torso.height as f32 * 1.4).max(1.0)).clamp(1.0, 2.0);
    let width = (area.width as f32 / narrow) as i64;
    let height = (area.height as f32 / narrow) as i64;
    let area = Area { x: torso.x + (torso.width - width) / 2, y: torso.y, width, height };
    put_until(canvas, &garment, area, torso.y + torso.height);
}

/// Puts all of a garment into an area.
fn put(canvas: &mut Canvas, garment: &RgbaImage, area: Area) {
    put_until(canvas, garment, area, area.y + area.height);
}

fn put_until(canvas: &mut Canvas, garment: &RgbaImage, area: Area, bottom: i64) {
    let (Ok(width @ 1..), Ok(height @ 1..)) =
        (u32::try_from(area.width), u32::try_from(area.height))
    else {
        return;
    };
    let garment = fit::contain(garment, width, height);
    let left = area.x + (area.width - i64::from(garment.width())) / 2;
    let top = area.y + (area.height - i64::from(garment.height())) / 2;
    let middle = garment.width() as f32 / 2.0;
    for (x, y, pixel) in garment.enumerate_pixels() {
        let (at_x, at_y) = (left + i64::from(x), top + i64::from(y));
        if at_y < bottom {
            let [r, g, b, a] = pixel.0.map(|part| f32::from(part) / 255.0);
            // The body is round: the sides are in shadow.
            let aside = (x as f32 + 0.5 - middle) / middle;
            let shade = 1.0 - 0.16 * aside * aside * aside * aside;
            canvas.blend(at_x, at_y, mix([0.0; 3], [r, g, b], shade), a);
        }
    }
}

/// The garment without its background, if that is plain: if the corners have the same colour.
fn cut_out(mut image: RgbaImage) -> RgbaImage {
    let (right, bottom) = (image.width() - 1, image.height() - 1);
    let corners = [(0, 0), (right, 0), (0, bottom / 2), (right, bottom / 2)];
    let corners = corners.map(|(x, y)| image.get_pixel(x, y).0);
    let is_same = |corner: &[u8; 4]| {
        corner.iter().zip(corners[0]).all(|(part, first)| part.abs_diff(first) <= SAME)
    };
    if !corners.iter().all(is_same) {
        return image;
    }
    let ground = [0, 1, 2].map(|part| {
        corners.iter().map(|corner| f32::from(corner[part])).sum::<f32>() / corners.len() as f32
    });
    let mut plain = GrayImage::new(image.width(), image.height());
    for (pixel, plain) in image.pixels().zip(plain.pixels_mut()) {
        plain.0[0] = if apart(pixel, ground) < NEAR { 255 } else { 0 };
    }
    let garment = middle_part(&without_holes(&plain));
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        // The outermost pixels are a blend with the background.
        let is_inside = |(x, y): PixelPosition| {
            garment.get_pixel_checked(x, y).is_some_and(|pixel| pixel.0[0] > 0)
        };
        if !is_inside((x, y)) || !mask::beside((x, y)).into_iter().all(is_inside) {
            pixel.0[3] = 0;
        }
    }
    let Area { x, y, width, height } = mask::bounds(&garment);
    image::imageops::crop_imm(&image, x as u32, y as u32, width as u32, height as u32).to_image()
}

/// What is not plain, and plain parts that it surrounds, such as buttons.
fn without_holes(plain: &GrayImage) -> GrayImage {
    let mut solid = GrayImage::from_pixel(plain.width(), plain.height(), Luma([255]));
    let is_at_edge = |(x, y): &PixelPosition| {
        [0, plain.width() - 1].contains(x) || [0, plain.height() - 1].contains(y)
    };
    for part in mask::connected(plain) {
        if part.iter().any(is_at_edge) {
            part.into_iter().for_each(|(x, y)| solid.put_pixel(x, y, Luma([0])));
        }
    }
    solid
}

/// The connected part that is nearest to the middle: the garment, and not a caption.
fn middle_part(solid: &GrayImage) -> GrayImage {
    let middle = (i64::from(solid.width()) / 2, i64::from(solid.height()) * 2 / 5);
    let from_middle = |part: &Vec<PixelPosition>| {
        let squares = part
            .iter()
            .map(|(x, y)| (i64::from(*x) - middle.0).pow(2) + (i64::from(*y) - middle.1).pow(2));
        squares.min()
    };
    let mut only = GrayImage::new(solid.width(), solid.height());
    let nearest = mask::connected(solid).into_iter().min_by_key(from_middle);
    for (x, y) in nearest.unwrap_or_default() {
        only.put_pixel(x, y, Luma([255]));
    }
    only
}

/// How much a colour differs from the background. A shadow on it is only darker, and differs
/// little.
fn apart(pixel: &Rgba<u8>, ground: [f32; 3]) -> f32 {
    /// A shadow is not darker than this.
    const SHADOW: f32 = 80.0;
    let [r, g, b] = [0, 1, 2].map(|part| f32::from(pixel.0[part]) - ground[part]);
    let hue = r.max(g).max(b) - r.min(g).min(b);
    hue.max(((r + g + b) / 3.0).abs() - SHADOW)
}
