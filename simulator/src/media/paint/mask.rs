//! Masks: dilation and bounds.

use image::{GrayImage, Luma};

use super::canvas::Area;

/// A binary mask: 255 where `mask` is closer to white, and up to `by` pixels around that, in
/// squares; 0 elsewhere.
pub(super) fn dilated(mask: &GrayImage, by: u32) -> GrayImage {
    let mut binary = mask.clone();
    for pixel in binary.pixels_mut() {
        pixel.0[0] = if pixel.0[0] > 127 { 255 } else { 0 };
    }
    if by == 0 {
        return binary;
    }
    let (width, height) = binary.dimensions();
    // A square is a dilation along the rows, then along the columns.
    let rows = spread(height, width, by, |row, at| binary.get_pixel(at, row).0[0] > 0);
    let wide = GrayImage::from_fn(width, height, |x, y| near(&rows, y, x));
    let columns = spread(width, height, by, |column, at| wide.get_pixel(column, at).0[0] > 0);
    GrayImage::from_fn(width, height, |x, y| near(&columns, x, y))
}

/// For each place of each line, whether a set place is at most `by` places away.
fn spread(lines: u32, length: u32, by: u32, is_set: impl Fn(u32, u32) -> bool) -> Vec<Vec<bool>> {
    let one = |line| {
        // The number of set places before each place.
        let mut before = vec![0u32];
        before.extend((0..length).scan(0, |count, at| {
            *count += u32::from(is_set(line, at));
            Some(*count)
        }));
        let count = |at: u32| before.get(at.min(length) as usize).copied().unwrap_or(0);
        let near =
            |at: u32| count(at.saturating_add(by).saturating_add(1)) > count(at.saturating_sub(by));
        (0..length).map(near).collect()
    };
    (0..lines).map(one).collect()
}

fn near(lines: &[Vec<bool>], line: u32, at: u32) -> Luma<u8> {
    let set = lines.get(line as usize).and_then(|line| line.get(at as usize));
    Luma([if set == Some(&true) { 255 } else { 0 }])
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
