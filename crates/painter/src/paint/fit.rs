//! Resizes images without distortion.

use image::{
    DynamicImage, RgbaImage,
    imageops::{self, FilterType},
};

/// As large as possible within the given size, at least one pixel wide and high.
pub(super) fn contain(image: &RgbaImage, width: u32, height: u32) -> RgbaImage {
    let (across, down) = (u64::from(image.width()), u64::from(image.height()));
    let (width, height) = (u64::from(width), u64::from(height));
    // The side that limits the size.
    let (width, height) = if across * height >= width * down {
        (width, rounded(width * down, across))
    } else {
        (rounded(height * across, down), height)
    };
    resize(image, width as u32, height as u32)
}

/// The centre of the image, cropped to exactly the given size.
pub(super) fn cover(image: &RgbaImage, width: u32, height: u32) -> RgbaImage {
    let (across, down) = (u64::from(image.width()), u64::from(image.height()));
    let (w, h) = (u64::from(width), u64::from(height));
    let (kept_across, kept_down) = if across * h >= w * down {
        (rounded(down * w, h).min(across), down)
    } else {
        (across, rounded(across * h, w).min(down))
    };
    let (x, y) = ((across - kept_across) / 2, (down - kept_down) / 2);
    let (kept_across, kept_down) = (kept_across as u32, kept_down as u32);
    let kept = imageops::crop_imm(image, x as u32, y as u32, kept_across, kept_down);
    resize(&kept.to_image(), width, height)
}

fn rounded(product: u64, by: u64) -> u64 {
    ((product + by / 2) / by.max(1)).max(1)
}

fn resize(image: &RgbaImage, width: u32, height: u32) -> RgbaImage {
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
            let covered = cover(&image, width, height);
            assert_eq!(covered.dimensions(), (width, height));
            let contained = contain(&image, width, height);
            assert!(contained.width() <= width && contained.height() <= height);
            assert!(contained.width() == width || contained.height() == height);
            for pixel in covered.pixels().chain(contained.pixels()) {
                assert_eq!(pixel.0, [9, 8, 7, 255]);
            }
        }
        // An extreme shape is not enlarged in between.
        let line = RgbaImage::new(60_000, 1);
        assert_eq!(cover(&line, 16, 2000).dimensions(), (16, 2000));
        assert_eq!(contain(&line, 16, 2000).dimensions(), (16, 1));
    }
}
