//! Sharpens a picture.

use image::{DynamicImage, RgbaImage};

use super::{canvas::Canvas, caption, fit, picture::Picture};

/// The radius of the blur to remove, in pixels, and the amount, for each pass: first large edges,
/// then fine detail.
const PASSES: [(u32, f32); 2] = [(4, 0.9), (2, 1.4)];

pub(super) fn paint(picture: &Picture) -> Option<RgbaImage> {
    let image = picture.image()?;
    let mut pixels =
        PASSES.iter().fold(image, |image, (by, amount)| sharpened(image, *by, *amount));
    let mut canvas = Canvas::of(&pixels);
    let free = caption::above(&canvas, picture).height;
    caption::paint(&mut canvas, picture);
    // The transparency stays, except under the caption.
    let captioned = canvas.into_image();
    for (x, y, pixel) in pixels.enumerate_pixels_mut().filter(|(_, y, _)| i64::from(*y) >= free) {
        *pixel = *captioned.get_pixel(x, y);
    }
    Some(pixels)
}

/// Amplifies the difference between each pixel and its surroundings.
fn sharpened(mut image: RgbaImage, radius: u32, amount: f32) -> RgbaImage {
    let (width, height) = image.dimensions();
    // Blurring a smaller image is faster and looks the same.
    let small = fit::cover(&image, width.div_ceil(radius), height.div_ceil(radius));
    let small = DynamicImage::from(small).fast_blur(1.0).into_rgb8();
    let blurred = Canvas::of(&DynamicImage::from(small).into_rgba8());
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        let (across, down) = ((x as f32 + 0.5) / width as f32, (y as f32 + 0.5) / height as f32);
        for (part, blurred) in pixel.0.iter_mut().zip(blurred.at(across, down)) {
            let apart = f32::from(*part) - blurred * 255.0;
            *part = (f32::from(*part) + apart * amount).round().clamp(0.0, 255.0) as u8;
        }
    }
    image
}
