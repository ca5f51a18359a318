//! Extends an image: expand and outpainting. The picture has no caption: the image must not change,
//! and the part around it is what was asked for.

use image::RgbaImage;

use super::{
    canvas::{Area, Canvas, WHITE, mix},
    fit,
    noise::smooth,
    painting,
    picture::Picture,
};

/// Beyond its edges the image is drawn from a copy smaller by this factor, so that the added part
/// is visibly softer.
const SOFTNESS: u32 = 24;

/// The image with the sides that were asked for.
pub(super) fn expand(picture: &Picture) -> Option<RgbaImage> {
    picture.image().map(|image| around(picture, &image, picture.settings.added))
}

/// The reference at its place.
pub(super) fn outpaint(picture: &Picture) -> Option<RgbaImage> {
    picture.reference().map(|image| around(picture, &image, picture.placed(&image)))
}

/// Places the image in the picture and paints around it. Near the image this is a soft mirror image
/// of it, which fades into the painting.
fn around(picture: &Picture, image: &RgbaImage, at: (i64, i64)) -> RgbaImage {
    let placed = Area {
        x: at.0,
        y: at.1,
        width: i64::from(image.width()),
        height: i64::from(image.height()),
    };
    let whole = Canvas::new(picture.size.0, picture.size.1).area();
    let mut canvas = painting::within(picture, whole);
    continue_outwards(&mut canvas, image, placed);
    // A thin line around the image, which covers the rest of the rectangle.
    canvas.blend_rectangle(placed.inset(-1), WHITE, 0.5);
    let mut pixels = canvas.into_image();
    image::imageops::replace(&mut pixels, image, placed.x, placed.y);
    pixels
}

fn continue_outwards(canvas: &mut Canvas, image: &RgbaImage, placed: Area) {
    let small = fit::contain(
        image,
        image.width().div_ceil(SOFTNESS).max(2),
        image.height().div_ceil(SOFTNESS).max(2),
    );
    let small = Canvas::of(&small);
    let reach = (placed.width.min(placed.height) as f32 * 0.6).max(1.0);
    canvas.change(|x, y, painted| {
        let (x, y) = (x as i64 - placed.x, y as i64 - placed.y);
        let (dx, dy) = (outside(x, placed.width), outside(y, placed.height));
        let distance = ((dx * dx + dy * dy) as f32).sqrt();
        let share = 1.0 - smooth((distance / reach).min(1.0));
        mix(painted, small.at(mirrored(x, placed.width), mirrored(y, placed.height)), share)
    });
}

/// The distance of a position from the range `0..length`.
fn outside(at: i64, length: i64) -> i64 {
    (-at).max(at - length + 1).max(0)
}

/// The mirrored position within the range, from 0 to 1.
fn mirrored(at: i64, length: i64) -> f32 {
    let period = (length * 2).max(1);
    let folded = at.rem_euclid(period);
    let folded = if folded < length { folded } else { period - 1 - folded };
    (folded as f32 + 0.5) / length.max(1) as f32
}
