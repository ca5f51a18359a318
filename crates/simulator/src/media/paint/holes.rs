//! Fills holes in a picture from what is beside them, along the horizon if possible.

use image::{GrayImage, RgbaImage};

/// The colour of an area without any surroundings.
const NOTHING: Pixel = [128.0, 128.0, 128.0, 255.0];

/// The number of pixels at either end of a hole whose mean is continued, so that a texture makes no
/// streaks.
const RIM: usize = 8;

type Pixel = [f32; 4];

/// Fills the pixels where `holes` is not black. The others stay unchanged.
pub(super) fn fill(image: &RgbaImage, holes: &GrayImage) -> RgbaImage {
    let (width, height) = (image.width() as usize, image.height() as usize);
    let known = image.pixels().zip(holes.pixels());
    let known = known.map(|(pixel, hole)| (hole.0[0] == 0).then(|| pixel.0.map(f32::from)));
    let mut pixels: Vec<Option<Pixel>> = known.collect();
    for y in 0..height {
        bridge(&mut pixels, y * width, 1, width);
    }
    // What is left are complete rows.
    for x in 0..width {
        bridge(&mut pixels, x, width, height);
    }
    let mut filled = image.clone();
    for ((pixel, hole), new) in filled.pixels_mut().zip(holes.pixels()).zip(pixels) {
        if hole.0[0] != 0 {
            pixel.0 = new.unwrap_or(NOTHING).map(|part| part.round() as u8);
        }
    }
    filled
}

/// Fills the holes in a line of pixels, which starts at `first` and has one every `step`: with a
/// blend from one end of the hole to the other, or with the colour of its only end.
fn bridge(pixels: &mut [Option<Pixel>], first: usize, step: usize, length: usize) {
    let mut start = 0;
    while start < length {
        let at = |place: usize| first + place * step;
        let is_known = |place: &usize| pixels[at(*place)].is_some();
        let Some(hole) = (start..length).find(|place| !is_known(place)) else { return };
        let end = (hole..length).find(is_known).unwrap_or(length);
        let next = (end..length).find(|place| !is_known(place)).unwrap_or(length);
        let mean = |places: std::ops::Range<usize>| {
            let count = places.len() as f32;
            let known = places.filter_map(|place| pixels[at(place)]);
            let sum =
                known.reduce(|sum, pixel| std::array::from_fn(|part| sum[part] + pixel[part]));
            sum.map(|sum| sum.map(|part| part / count))
        };
        let left = mean(hole.saturating_sub(RIM).max(start)..hole);
        let right = mean(end..next.min(end + RIM));
        let Some((from, to)) = left.or(right).zip(right.or(left)) else { return };
        for place in hole..end {
            let share = (place - hole + 1) as f32 / (end - hole + 1) as f32;
            pixels[at(place)] =
                Some(std::array::from_fn(|part| from[part] + (to[part] - from[part]) * share));
        }
        start = end;
    }
}
