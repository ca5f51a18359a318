//! Pictures that change only where a mask is white: fill and erase. They have no caption: the rest
//! must not change, and the white part is what was asked for.

use image::{GrayImage, Luma, RgbaImage};

use super::{holes, mask, painting, picture::Picture};

/// Paints where the mask is white, or, without a mask, where the image is transparent. Grey blends
/// both.
pub(super) fn fill(picture: &Picture) -> Option<RgbaImage> {
    let mut image = picture.image()?;
    let mask = match picture.mask() {
        Some(mask) => mask,
        None => {
            let (width, height) = image.dimensions();
            let transparency = |x, y| Luma([255 - image.get_pixel(x, y).0[3]]);
            let mask = GrayImage::from_fn(width, height, transparency);
            // The alpha channel is the mask, and not part of the picture.
            image.pixels_mut().for_each(|pixel| pixel.0[3] = 255);
            mask
        }
    };
    if mask.dimensions() != image.dimensions() {
        return None;
    }
    if mask.pixels().all(|covered| covered.0[0] == 0) {
        return Some(image);
    }
    let painting = painting::within(picture, mask::bounds(&mask));
    lay(&mut image, &painting.into_image(), &mask);
    Some(image)
}

/// Fills the area of the dilated mask from its surroundings.
pub(super) fn erase(picture: &Picture) -> Option<RgbaImage> {
    let image = picture.image()?;
    let mask = picture.mask().filter(|mask| mask.dimensions() == image.dimensions())?;
    let mask = mask::dilated(&mask, picture.settings.dilation);
    Some(holes::fill(&image, &mask))
}

/// Blends `new` over `image` according to the mask.
fn lay(image: &mut RgbaImage, new: &RgbaImage, mask: &GrayImage) {
    for ((pixel, new), covered) in image.pixels_mut().zip(new.pixels()).zip(mask.pixels()) {
        let covered = u32::from(covered.0[0]);
        for (part, new) in pixel.0.iter_mut().zip(new.0) {
            let sum = u32::from(*part) * (255 - covered) + u32::from(new) * covered;
            *part = ((sum + 127) / 255) as u8;
        }
    }
}
