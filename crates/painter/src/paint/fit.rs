//! Resizes images without distortion.

use image::{
    DynamicImage, RgbaImage,
    imageops::{self, FilterType},
};

/// As large as possible within the given size, at least one pixel wide and high.
pub(super) fn contain(image: &RgbaImage, size: (u32, u32)) -> RgbaImage {
    resize(image, fitted(image.dimensions(), size))
}

/// The centre of the image, cropped to exactly the given size.
pub(super) fn cover(image: &RgbaImage, size: (u32, u32)) -> RgbaImage {
    let (across, down) = image.dimensions();
    let kept = fitted(size, (across, down));
    let (x, y) = ((across - kept.0) / 2, (down - kept.1) / 2);
    resize(&imageops::crop_imm(image, x, y, kept.0, kept.1).to_image(), size)
}

/// The largest size within `room` that has this shape.
fn fitted(shape: (u32, u32), room: (u32, u32)) -> (u32, u32) {
    let scaled = |length: u32, part: u32, whole: u32| {
        let (part, whole) = (u64::from(part), u64::from(whole));
        ((u64::from(length) * part + whole / 2) / whole.max(1)).max(1) as u32
    };
    if u64::from(shape.0) * u64::from(room.1) >= u64::from(room.0) * u64::from(shape.1) {
        (room.0, scaled(room.0, shape.1, shape.0))
    } else {
        (scaled(room.1, shape.0, shape.1), room.1)
    }
}

fn resize(image: &RgbaImage, (width, height): (u32, u32)) -> RgbaImage {
    if image.dimensions() == (width, height) {
        return image.clone();
    }
    // `DynamicImage` resizes with code that is compiled in the `image` crate, and is optimised in
    // every profile.
    let image = DynamicImage::from(image.clone());
    let resized = if image.width() >= width * 2 && image.height() >= height * 2 {
        image.thumbnail_exact(width, height)
    } else {
        image.resize_exact(width, height, FilterType::Triangle)
    };
    resized.into_rgba8()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_fit_every_size() {
        let sides = [1u32, 2, 3, 17, 64, 300];
        for case in 0..sides.len().pow(4) {
            let side = |place| sides[case / sides.len().pow(place) % sides.len()];
            let [across, down, width, height] = [0, 1, 2, 3].map(side);
            let image = RgbaImage::from_pixel(across, down, image::Rgba([9, 8, 7, 255]));
            let covered = cover(&image, (width, height));
            assert_eq!(covered.dimensions(), (width, height));
            let contained = contain(&image, (width, height));
            assert!(contained.width() <= width && contained.height() <= height);
            assert!(contained.width() == width || contained.height() == height);
            for pixel in covered.pixels().chain(contained.pixels()) {
                assert_eq!(pixel.0, [9, 8, 7, 255]);
            }
        }
        // An extreme shape is not enlarged in between.
        let line = RgbaImage::new(60_000, 1);
        assert_eq!(cover(&line, (16, 2000)).dimensions(), (16, 2000));
        assert_eq!(contain(&line, (16, 2000)).dimensions(), (16, 1));
    }
}
