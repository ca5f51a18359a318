//! Fills holes in a picture from their surroundings. The picture is halved until no holes are left;
//! then the holes are filled from the smaller pictures.

use image::{GrayImage, RgbaImage};

/// The fill colour of an area without any surroundings.
const NOTHING: [f32; 4] = [128.0, 128.0, 128.0, 255.0];

/// A picture with missing pixels.
struct Level {
    width: usize,
    height: usize,
    pixels: Vec<Option<[f32; 4]>>,
}

/// Fills the pixels where `holes` is not black. The others stay unchanged.
pub(super) fn fill(image: &RgbaImage, holes: &GrayImage) -> RgbaImage {
    let known = image.pixels().zip(holes.pixels());
    let pixels =
        known.map(|(pixel, hole)| (hole.0[0] == 0).then(|| pixel.0.map(f32::from))).collect();
    let finest = Level { width: image.width() as usize, height: image.height() as usize, pixels };
    let mut filled = image.clone();
    if finest.pixels.iter().all(Option::is_some) {
        return filled;
    }
    let mut levels = vec![finest];
    while let Some(last) = levels.last()
        && (last.width > 1 || last.height > 1)
    {
        let coarser = last.halved();
        levels.push(coarser);
    }
    let mut coarse: Option<Level> = None;
    for mut level in levels.into_iter().rev() {
        level.fill_from(coarse.as_ref());
        coarse = Some(level);
    }
    let finest = coarse.map(|level| level.pixels).unwrap_or_default();
    for ((pixel, hole), new) in filled.pixels_mut().zip(holes.pixels()).zip(finest) {
        if let (true, Some(new)) = (hole.0[0] != 0, new) {
            pixel.0 = new.map(|part| part.round() as u8);
        }
    }
    filled
}

impl Level {
    /// A picture of half the size, whose pixels are the mean of up to four known pixels.
    fn halved(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let mut pixels = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)]
                    .map(|(dx, dy)| self.at(x * 2 + dx, y * 2 + dy));
                let known: Vec<_> = four.into_iter().flatten().collect();
                let sum = known.iter().fold([0.0; 4], |sum, pixel| add(sum, *pixel, 1.0));
                pixels.push((!known.is_empty()).then(|| sum.map(|part| part / known.len() as f32)));
            }
        }
        Self { width, height, pixels }
    }

    fn at(&self, x: usize, y: usize) -> Option<[f32; 4]> {
        if x < self.width { self.pixels.get(y * self.width + x).copied().flatten() } else { None }
    }

    /// Fills missing pixels from a complete picture of half the size.
    fn fill_from(&mut self, coarse: Option<&Level>) {
        for (index, pixel) in self.pixels.iter_mut().enumerate() {
            if pixel.is_none() {
                let (x, y) = (index % self.width, index / self.width);
                *pixel = Some(coarse.map_or(NOTHING, |coarse| coarse.between(x, y)));
            }
        }
    }

    /// The colour of a pixel of the picture of twice the size, interpolated between four pixels of
    /// this one.
    fn between(&self, x: usize, y: usize) -> [f32; 4] {
        // The centre of a pixel is a quarter of the way from its own coarse pixel to the next one.
        let beside = |at: usize, length: usize| {
            let near = at / 2;
            let far = if at.is_multiple_of(2) { near.saturating_sub(1) } else { near + 1 };
            [(near, 0.75), (far.min(length.saturating_sub(1)), 0.25)]
        };
        let mut sum = [0.0; 4];
        for (row, down) in beside(y, self.height) {
            for (column, across) in beside(x, self.width) {
                sum = add(sum, self.at(column, row).unwrap_or(NOTHING), down * across);
            }
        }
        sum
    }
}

fn add(sum: [f32; 4], pixel: [f32; 4], share: f32) -> [f32; 4] {
    let mut sum = sum;
    for (sum, part) in sum.iter_mut().zip(pixel) {
        *sum += part * share;
    }
    sum
}

#[cfg(test)]
mod tests {
    use image::{Luma, Rgba};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn holes_are_filled_from_their_surroundings(
            (width, height) in (1u32..40, 1u32..40), seed in any::<u32>(), rarity in 1u32..5,
        ) {
            let hash = |x: u32, y: u32| {
                (x * 31 + y * 57 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9) >> 16
            };
            let image = RgbaImage::from_fn(width, height, |x, y| {
                Rgba([(hash(x, y) % 100) as u8 + 50, (hash(y, x) % 200) as u8, x as u8, 255])
            });
            let holes = GrayImage::from_fn(width, height, |x, y| {
                Luma([if hash(x / 3, y / 3) % (rarity + 1) > 0 { 255 } else { 0 }])
            });
            let filled = fill(&image, &holes);
            let mut elsewhere = image.clone();
            for (pixel, hole) in elsewhere.pixels_mut().zip(holes.pixels()) {
                if hole.0[0] > 0 {
                    pixel.0 = [255, 0, 255, 0];
                }
            }
            prop_assert!(fill(&elsewhere, &holes) == filled, "holes must be ignored");
            let all_holes = holes.pixels().all(|hole| hole.0[0] > 0);
            for ((new, old), hole) in filled.pixels().zip(image.pixels()).zip(holes.pixels()) {
                if hole.0[0] == 0 {
                    prop_assert_eq!(new, old);
                } else if !all_holes {
                    prop_assert!((50..150).contains(&new.0[0]) && new.0[3] == 255, "{:?}", new);
                }
            }
        }
    }

    #[test]
    fn a_picture_without_known_pixels_is_filled_with_grey() {
        let filled = fill(&RgbaImage::new(5, 3), &GrayImage::from_pixel(5, 3, Luma([255])));
        assert!(filled.pixels().all(|pixel| pixel.0 == [128, 128, 128, 255]));
    }
}
