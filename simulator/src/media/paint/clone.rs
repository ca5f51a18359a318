//! Fills holes in a picture with copies of what is beside them, whose colours are shifted so that
//! they meet those around the hole; and where nothing fits, with a blend of those colours.

use image::{GrayImage, Luma, Rgba, RgbaImage};

use super::{
    diffuse,
    mask::{PixelPosition, beside, connected},
};

/// The maximum number of positions on the rim of a hole that are compared.
const MAX_COMPARED: usize = 240;

/// Smaller holes, and more of them, are filled with a blend of the colours around them.
const MIN_PIXELS: usize = 48;
const MAX_HOLES: usize = 32;

/// How many times a hole is halved that is too large to be filled in one piece.
const MAX_SPLITS: u32 = 5;

/// The number of steps to either side, and up or down, at which other parts are tried.
const STEPS: (i64, i64) = (64, 2);

/// Parts whose rim differs by more than this, squared and on average, are not copied.
const MOST_APART: u64 = 4000;

/// Fills the pixels where `holes` is not black. The others stay unchanged.
pub(super) fn fill(image: &RgbaImage, holes: &GrayImage) -> RgbaImage {
    let mut filled = diffuse::fill(image, holes);
    let mut left = holes.clone();
    // The last is the next.
    let mut parts = connected(holes);
    // The others are small, and keep the blend.
    parts.retain(|part| part.len() >= MIN_PIXELS);
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts.truncate(MAX_HOLES);
    let mut parts: Vec<_> = parts.into_iter().map(|part| (part, 0)).collect();
    while let Some((part, depth)) = parts.pop() {
        let rim = rim(&part, &left);
        if rim.is_empty() {
            continue;
        }
        if let Some(shift) = best_shift(&filled, &left, &part, &rim) {
            copy(&mut filled, &part, &rim, shift);
            part.into_iter().for_each(|(x, y)| left.put_pixel(x, y, Luma([0])));
        } else if depth < MAX_SPLITS {
            // Too large for a copy in one piece.
            parts.extend(halves(part).map(|half| (half, depth + 1)));
        }
    }
    filled
}

/// The positions in the left and in the right half, or in the upper and lower one.
fn halves(part: Vec<PixelPosition>) -> [Vec<PixelPosition>; 2] {
    let span = |of: fn(&PixelPosition) -> u32| {
        let (least, most) = part
            .iter()
            .map(of)
            .fold((u32::MAX, 0), |(least, most), at| (least.min(at), most.max(at)));
        (most.saturating_sub(least), least.midpoint(most))
    };
    let (across, down) = (span(|position| position.0), span(|position| position.1));
    let (first, second) = if across.0 >= down.0 {
        part.iter().partition(|position| position.0 <= across.1)
    } else {
        part.iter().partition(|position| position.1 <= down.1)
    };
    [first, second]
}

/// The positions around a hole.
fn rim(hole: &[PixelPosition], holes: &GrayImage) -> Vec<PixelPosition> {
    let is_known =
        |(x, y): &PixelPosition| holes.get_pixel_checked(*x, *y).is_some_and(|at| at.0[0] == 0);
    let mut rim: Vec<_> =
        hole.iter().flat_map(|position| beside(*position)).filter(is_known).collect();
    rim.sort_unstable();
    rim.dedup();
    rim
}

fn moved((x, y): PixelPosition, (across, down): (i64, i64)) -> Option<PixelPosition> {
    let x = u32::try_from(i64::from(x) + across).ok()?;
    Some((x, u32::try_from(i64::from(y) + down).ok()?))
}

/// The shift to the part whose rim is most like that of the hole, and which is complete.
fn best_shift(
    image: &RgbaImage,
    holes: &GrayImage,
    hole: &[PixelPosition],
    rim: &[PixelPosition],
) -> Option<(i64, i64)> {
    let known = |position: PixelPosition, shift: (i64, i64)| -> Option<&Rgba<u8>> {
        let (x, y) = moved(position, shift)?;
        let is_known = holes.get_pixel_checked(x, y)?.0[0] == 0;
        is_known.then(|| image.get_pixel(x, y))
    };
    let compared: Vec<_> = rim.iter().step_by(rim.len().div_ceil(MAX_COMPARED).max(1)).collect();
    let difference = |shift: (i64, i64)| -> Option<u64> {
        let differences = compared.iter().map(|position| {
            let (one, other) = (known(**position, (0, 0))?, known(**position, shift)?);
            Some(
                one.0
                    .iter()
                    .zip(other.0)
                    .map(|(a, b)| u64::from(a.abs_diff(b)).pow(2))
                    .sum::<u64>(),
            )
        });
        differences.sum()
    };
    let (width, height) = (i64::from(image.width()), i64::from(image.height()));
    // Along the horizon: what is above or below a pixel seldom continues it.
    let shifts = (-STEPS.0..=STEPS.0).flat_map(|across| {
        (-STEPS.1..=STEPS.1).map(move |down| (across * width / STEPS.0, down * height / 120))
    });
    let most = MOST_APART * compared.len() as u64;
    let is_like = |shift| Some((difference(shift).filter(|apart| *apart <= most)?, shift));
    let mut shifts: Vec<_> = shifts.filter_map(is_like).collect();
    shifts.sort_unstable();
    let is_complete =
        |shift: &(i64, i64)| hole.iter().all(|position| known(*position, *shift).is_some());
    shifts.into_iter().map(|(_, shift)| shift).find(is_complete)
}

/// Copies the shifted part into the hole. The differences along the rim are spread over the hole
/// and added.
fn copy(filled: &mut RgbaImage, hole: &[PixelPosition], rim: &[PixelPosition], shift: (i64, i64)) {
    let (left, top) = rim
        .iter()
        .chain(hole)
        .fold((u32::MAX, u32::MAX), |(x, y), position| (x.min(position.0), y.min(position.1)));
    let (right, bottom) = rim
        .iter()
        .chain(hole)
        .fold((0, 0), |(x, y), position| (x.max(position.0), y.max(position.1)));
    let (width, height) = (right - left + 1, bottom - top + 1);
    // Half the difference, around the middle, fits a byte.
    let mut apart = RgbaImage::new(width, height);
    let mut unknown = GrayImage::from_pixel(width, height, Luma([255]));
    for position in rim {
        let Some((x, y)) = moved(*position, shift) else { continue };
        let (one, other) = (filled.get_pixel(position.0, position.1).0, filled.get_pixel(x, y).0);
        let half = |part: usize| (i16::from(one[part]) - i16::from(other[part])) / 2 + 128;
        let half = [0, 1, 2, 3].map(|part| half(part) as u8);
        apart.put_pixel(position.0 - left, position.1 - top, Rgba(half));
        unknown.put_pixel(position.0 - left, position.1 - top, Luma([0]));
    }
    let apart = diffuse::fill(&apart, &unknown);
    for position in hole {
        let Some((x, y)) = moved(*position, shift) else { continue };
        let source = filled.get_pixel(x, y).0;
        let apart = apart.get_pixel(position.0 - left, position.1 - top).0;
        let sum = |part: usize| i16::from(source[part]) + (i16::from(apart[part]) - 128) * 2;
        let sum = [0, 1, 2, 3].map(|part| sum(part).clamp(0, 255) as u8);
        filled.put_pixel(position.0, position.1, Rgba(sum));
    }
}
