//! Masks: dilation and bounds.

use image::{GrayImage, Luma};

use super::canvas::Area;

/// A binary mask: 255 where `mask` is closer to white, and up to `by` pixels around that, in
/// squares; 0 elsewhere.
pub(super) fn dilated(mask: &GrayImage, by: u32) -> GrayImage {
    let (width, height) = mask.dimensions();
    // The number of white pixels above and to the left of each position.
    let across = width as usize + 1;
    let mut counts = vec![0u32; across * (height as usize + 1)];
    let at = |x: u32, y: u32| x.min(width) as usize + y.min(height) as usize * across;
    for (x, y, pixel) in mask.enumerate_pixels() {
        let beside = counts[at(x, y + 1)] + counts[at(x + 1, y)] - counts[at(x, y)];
        counts[at(x + 1, y + 1)] = beside + u32::from(pixel.0[0] > 127);
    }
    GrayImage::from_fn(width, height, |x, y| {
        let after = |at: u32| at.saturating_add(by).saturating_add(1);
        let (left, top) = (x.saturating_sub(by), y.saturating_sub(by));
        let (right, bottom) = (after(x), after(y));
        let outside = counts[at(left, bottom)] + counts[at(right, top)];
        let within = counts[at(right, bottom)] + counts[at(left, top)] - outside;
        Luma([if within > 0 { 255 } else { 0 }])
    })
}

/// The smallest rectangle that contains everything that is not black.
pub(super) fn bounds(mask: &GrayImage) -> Area {
    let is_covered = |(_, _, pixel): &(u32, u32, &Luma<u8>)| pixel.0[0] > 0;
    let covered = mask.enumerate_pixels().filter(is_covered);
    let (left, top, right, bottom) =
        covered.fold((u32::MAX, u32::MAX, 0, 0), |(left, top, right, bottom), (x, y, _)| {
            (left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1))
        });
    let length = |from: u32, to: u32| i64::from(to.saturating_sub(from));
    let (width, height) = (length(left, right), length(top, bottom));
    Area { x: i64::from(left), y: i64::from(top), width, height }
}
