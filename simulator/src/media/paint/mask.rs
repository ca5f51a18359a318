//! Masks: dilation, and the largest white rectangle.

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

/// The largest rectangle in which the mask is white.
pub(super) fn largest_white(mask: &GrayImage) -> Area {
    let (width, height) = mask.dimensions();
    let mut best = Area { x: 0, y: 0, width: 0, height: 0 };
    // The number of consecutive white pixels in each column, up to the current row.
    let mut columns = vec![0i64; width as usize];
    for (y, row) in (0..i64::from(height)).zip(mask.rows()) {
        for (column, pixel) in columns.iter_mut().zip(row) {
            *column = if pixel.0[0] == 255 { *column + 1 } else { 0 };
        }
        // Rectangles that end in this row and are still open, each higher than the one before.
        let mut open: Vec<(i64, i64)> = Vec::new();
        for (x, column) in (0i64..).zip(columns.iter().copied().chain([0])) {
            let mut start = x;
            while let Some((from, tall)) = open.pop_if(|(_, tall)| *tall >= column) {
                if tall * (x - from) > best.width * best.height {
                    best = Area { x: from, y: y + 1 - tall, width: x - from, height: tall };
                }
                start = from;
            }
            open.push((start, column));
        }
    }
    best
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
        fn the_rectangle_is_white_and_the_largest(mask in any_mask()) {
            let (width, height) = (i64::from(mask.width()), i64::from(mask.height()));
            let white = |area: Area| {
                let mut pixels = (area.y..area.y + area.height)
                    .flat_map(|y| (area.x..area.x + area.width).map(move |x| (x, y)));
                pixels.all(|(x, y)| mask.get_pixel(x as u32, y as u32).0[0] == 255)
            };
            let mut largest = 0;
            for (x, y) in (0..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
                for (w, h) in (1..=width - x).flat_map(|w| (1..=height - y).map(move |h| (w, h))) {
                    if w * h > largest && white(Area { x, y, width: w, height: h }) {
                        largest = w * h;
                    }
                }
            }
            let found = largest_white(&mask);
            prop_assert!(white(found), "{:?}", found);
            prop_assert_eq!(found.width * found.height, largest);
        }
    }
}
