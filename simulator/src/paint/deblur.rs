//! A sharper picture.

use image::{DynamicImage, RgbaImage};

use super::canvas::Canvas;
use super::{Picture, caption};

/// How wide the blur is that is taken away, and how much of it, in turn: edges first, fine detail after.
const PASSES: [(f32, f32); 2] = [(3.0, 1.0), (1.2, 1.2)];

pub(super) fn paint(picture: &Picture) -> Option<RgbaImage> {
    let image = picture.image()?;
    let mut pixels = PASSES.iter().fold(image, |image, (sigma, amount)| sharpened(image, *sigma, *amount));
    let mut canvas = Canvas::of(&pixels);
    if caption::paint(&mut canvas, picture) {
        let captioned = canvas.into_image_with_alpha();
        // What is transparent stays so, but for the caption.
        let plain = Canvas::of(&pixels).into_image_with_alpha();
        for ((pixel, captioned), plain) in pixels.pixels_mut().zip(captioned.pixels()).zip(plain.pixels()) {
            if captioned != plain {
                *pixel = *captioned;
            }
        }
    }
    Some(pixels)
}

/// Adds to each pixel what sets it apart from those around it.
fn sharpened(image: RgbaImage, sigma: f32, amount: f32) -> RgbaImage {
    // Blurred by a method of `DynamicImage`: it is compiled with `image`, and so optimised in every profile.
    let image = DynamicImage::from(image);
    let blurred = image.fast_blur(sigma).into_rgba8();
    let mut image = image.into_rgba8();
    for (pixel, blurred) in image.pixels_mut().zip(blurred.pixels()) {
        for (part, blurred) in pixel.0.iter_mut().zip(blurred.0).take(3) {
            let apart = f32::from(*part) - f32::from(blurred);
            *part = (f32::from(*part) + apart * amount).round().clamp(0.0, 255.0) as u8;
        }
    }
    image
}
