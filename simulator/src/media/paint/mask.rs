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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_mask() -> impl Strategy<Value = GrayImage> {
        (1u32..14, 1u32..14, any::<u64>(), 1u64..4).prop_map(|(width, height, bits, rarity)| {
            GrayImage::from_fn(width, height, |x, y| {
                let hash =
                    (bits ^ u64::from(x * 31 + y * 17)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                Luma([if hash % (rarity + 1) == 0 { 255 } else { (hash % 128) as u8 }])
            })
        })
    }

    proptest! {
        #[test]
        fn dilation_has_the_requested_radius(mask in any_mask(), by in 0u32..6) {
            let grown = dilated(&mask, by);
            for (x, y, pixel) in grown.enumerate_pixels() {
                let covered = mask.enumerate_pixels().any(|(column, row, pixel)| {
                    pixel.0[0] > 127 && column.abs_diff(x) <= by && row.abs_diff(y) <= by
                });
                prop_assert_eq!(pixel.0[0], if covered { 255 } else { 0 }, "at {} {}", x, y);
            }
        }

        #[test]
        fn the_bounds_contain_what_is_covered_and_no_more(mask in any_mask()) {
            let area = bounds(&mask);
            let is_covered = |x: i64, y: i64| mask.get_pixel(x as u32, y as u32).0[0] > 0;
            let inside = |x: i64, y: i64| {
                (area.x..area.x + area.width).contains(&x)
                    && (area.y..area.y + area.height).contains(&y)
            };
            let all = || {
                let (width, height) = (i64::from(mask.width()), i64::from(mask.height()));
                (0..width).flat_map(move |x| (0..height).map(move |y| (x, y)))
            };
            prop_assert!(all().all(|(x, y)| inside(x, y) || !is_covered(x, y)));
            for edge in [area.x, area.x + area.width - 1] {
                prop_assert!(area.width == 0 || all().any(|(x, y)| x == edge && is_covered(x, y)));
            }
            for edge in [area.y, area.y + area.height - 1] {
                prop_assert!(area.width == 0 || all().any(|(x, y)| y == edge && is_covered(x, y)));
            }
        }
    }
}
