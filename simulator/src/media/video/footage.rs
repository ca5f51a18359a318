//! What a video shows: pictures at their times, with a slow movement and drifting clouds.

use image::RgbaImage;

/// How much a picture is enlarged at most.
const ZOOM: f32 = 0.08;

/// Clouds cross this share of the width per second.
const DRIFT: f32 = 0.012;

/// A picture that is shown exactly at its time.
pub(crate) struct Shot {
    /// In seconds.
    pub(crate) at: f32,
    pub(crate) picture: RgbaImage,
}

/// Light clouds, as a coarse grid of shares from 0 to 1 that is repeated across.
pub(crate) struct Clouds {
    pub(crate) columns: usize,
    /// The sides of a square of the grid, in pixels.
    pub(crate) square: usize,
    pub(crate) shares: Vec<f32>,
}

/// The pictures of a video.
pub(crate) struct Footage {
    /// In the order of their times, at least one, all of the same size.
    pub(crate) shots: Vec<Shot>,
    /// The rest of the picture below `moving`, which stays still: the caption.
    pub(crate) still: RgbaImage,
    /// The number of rows that move.
    pub(crate) moving: u32,
    /// Where the movement goes: -1 to 1 across and down. `None` keeps the pictures in place.
    pub(crate) toward: Option<(f32, f32)>,
    pub(crate) clouds: Option<Clouds>,
}

/// A frame between two shots.
struct Between<'a> {
    before: &'a RgbaImage,
    after: &'a RgbaImage,
    /// How much of the second is shown, from 0 to 1.
    share: f32,
    /// How far the movement has gone, from 0 to 1.
    moved: f32,
}

impl Footage {
    /// A picture that does not move.
    pub(crate) fn still(picture: RgbaImage) -> Self {
        let shots = vec![Shot { at: 0.0, picture: picture.clone() }];
        Self { shots, still: picture, moving: 0, toward: None, clouds: None }
    }

    /// The frame at a time in a video of this duration, both in seconds.
    pub(super) fn frame(&self, time: f32, duration: f32) -> RgbaImage {
        let mut frame = self.still.clone();
        let Some(between) = self.between(time, duration) else { return frame };
        let zoom = 1.0 + if self.toward.is_some() { ZOOM * between.moved } else { 0.0 };
        let toward = self.toward.unwrap_or_default();
        let rows = self.moving.min(frame.height());
        warp(between.before, &mut frame, rows, zoom, toward, 1.0);
        if between.share > 0.0 {
            warp(between.after, &mut frame, rows, zoom, toward, between.share);
        }
        if let Some(clouds) = &self.clouds {
            clouds.drift(&mut frame, rows, time);
        }
        frame
    }

    fn between(&self, time: f32, duration: f32) -> Option<Between<'_>> {
        let next = self.shots.iter().position(|shot| shot.at > time).unwrap_or(self.shots.len());
        let before = self.shots.get(next.saturating_sub(1))?;
        let after = self.shots.get(next);
        let part = |from: f32, to: f32| ((time - from) / (to - from).max(1e-3)).clamp(0.0, 1.0);
        let (share, moved) = match after {
            // Before the first shot it is shown already, and moves to its place.
            Some(after) if next == 0 => (0.0, 1.0 - part(0.0, after.at)),
            Some(after) => {
                let part = part(before.at, after.at);
                (part * part * (3.0 - 2.0 * part), (part * std::f32::consts::PI).sin())
            }
            None => (0.0, part(before.at, duration)),
        };
        let after = after.unwrap_or(before);
        Some(Between { before: &before.picture, after: &after.picture, share, moved })
    }
}

/// Blends an enlarged part of `source` over the first rows of `frame`.
fn warp(
    source: &RgbaImage,
    frame: &mut RgbaImage,
    rows: u32,
    zoom: f32,
    (right, down): (f32, f32),
    share: f32,
) {
    let share = (share * 256.0) as u32;
    let columns = samples(frame.width(), source.width(), zoom, right);
    let lines = samples(rows, source.height().min(rows), zoom, down);
    let (width, source_width) = (frame.width() as usize, source.width() as usize);
    let source = source.as_chunks::<4>().0;
    let targets = frame.as_chunks_mut::<4>().0.chunks_exact_mut(width.max(1));
    for (target, line) in targets.zip(lines) {
        let row = |at: usize| source.get(at * source_width..(at + 1) * source_width);
        let (Some(upper), Some(lower)) = (row(line.first), row(line.second)) else { return };
        for (pixel, column) in target.iter_mut().zip(&columns) {
            let across = |row: &[[u8; 4]]| mix(row[column.first], row[column.second], column.share);
            let colour = mix(across(upper), across(lower), line.share);
            *pixel = if share == 256 { colour } else { mix(*pixel, colour, share) };
        }
    }
}

/// A blend of two pixels, by the share of the second in 256ths. Two channels at a time.
fn mix(one: [u8; 4], other: [u8; 4], share: u32) -> [u8; 4] {
    const EVEN: u32 = 0x00ff_00ff;
    let (one, other) = (u32::from_le_bytes(one), u32::from_le_bytes(other));
    let half = |one: u32, other: u32| (one & EVEN) * (256 - share) + (other & EVEN) * share;
    let (even, odd) = (half(one, other), half(one >> 8, other >> 8));
    ((even >> 8 & EVEN) | (odd & !EVEN)).to_le_bytes()
}

/// Where a row or column comes from: a blend of two in the source, in 256ths.
struct Sample {
    first: usize,
    second: usize,
    share: u32,
}

/// The samples of each row or column of the frame, which shows a part of the source. `toward` is
/// where the part lies, from -1 (the start) to 1 (the end).
fn samples(length: u32, source: u32, zoom: f32, toward: f32) -> Vec<Sample> {
    let last = source.saturating_sub(1) as usize;
    let shown = source as f32 / zoom;
    let start = (source as f32 - shown) * (0.5 + 0.5 * toward);
    let step = shown / length.max(1) as f32;
    let sample = |at: u32| {
        let place = (start + (at as f32 + 0.5) * step - 0.5).clamp(0.0, last as f32);
        let first = (place as usize).min(last);
        Sample { first, second: (first + 1).min(last), share: (place.fract() * 256.0) as u32 }
    };
    (0..length).map(sample).collect()
}

impl Clouds {
    /// Lightens the first rows of a frame.
    fn drift(&self, frame: &mut RgbaImage, rows: u32, time: f32) {
        const WHITE: [u8; 4] = [255; 4];
        let width = frame.width() as usize;
        let offset = (time * DRIFT * width as f32) as usize;
        let (columns, square) = (self.columns.max(1), self.square.max(1));
        let lines: Vec<&[f32]> = self.shares.chunks_exact(columns).collect();
        let targets = frame.as_chunks_mut::<4>().0.chunks_exact_mut(width.max(1));
        for (y, row) in targets.take(rows as usize).enumerate() {
            let down = (y % square) as f32 / square as f32;
            let Some([upper, lower]) = lines.get(y / square..y / square + 2) else { return };
            let shares = upper.iter().zip(lower.iter()).map(|(a, b)| a + (b - a) * down);
            let shares: Vec<f32> = shares.map(|share| share.clamp(0.0, 1.0) * 256.0).collect();
            for (x, pixel) in row.iter_mut().enumerate() {
                let (left, across) = ((x + offset) / square, (x + offset) % square);
                let [left, right] = [left, left + 1].map(|column| shares[column % columns]);
                let share = left + (right - left) * across as f32 / square as f32;
                if share >= 1.0 {
                    *pixel = mix(*pixel, WHITE, share as u32);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    fn footage(times: &[f32], toward: Option<(f32, f32)>) -> Footage {
        let shot = |at: &f32| {
            let tone = (*at * 20.0) as u8;
            let picture =
                RgbaImage::from_fn(32, 24, |x, y| Rgba([x as u8 * 7, y as u8 * 9, tone, 255]));
            Shot { at: *at, picture }
        };
        let still = RgbaImage::from_pixel(32, 24, Rgba([1, 2, 3, 255]));
        let shots = times.iter().map(shot).collect();
        Footage { shots, still, moving: 20, toward, clouds: None }
    }

    #[test]
    fn shots_are_shown_exactly_at_their_times() {
        let footage = footage(&[1.0, 2.0, 5.0], Some((1.0, -1.0)));
        for shot in &footage.shots {
            let frame = footage.frame(shot.at, 8.0);
            for (x, y, pixel) in frame.enumerate_pixels() {
                let expected =
                    if y < 20 { *shot.picture.get_pixel(x, y) } else { Rgba([1, 2, 3, 255]) };
                assert_eq!(*pixel, expected, "{} at {x}, {y}", shot.at);
            }
        }
        let tone = |time: f32| footage.frame(time, 8.0).get_pixel(5, 5)[2];
        assert_eq!([tone(0.0), tone(8.0)], [20, 100]);
        assert!(tone(1.0) < tone(1.5) && tone(1.5) < tone(2.0), "a blend in between");
    }

    #[test]
    fn a_picture_moves_unless_it_is_kept_in_place() {
        for (toward, moves) in [(Some((1.0, 1.0)), true), (None, false)] {
            let footage = footage(&[0.0], toward);
            let frames = [0.0, 1.0, 2.0].map(|time| footage.frame(time, 2.0));
            assert_eq!(frames[0] != frames[1] && frames[1] != frames[2], moves);
        }
    }

    #[test]
    fn clouds_drift() {
        let mut footage = footage(&[0.0], None);
        let shares = (0..8 * 8).map(|index| (index % 8) as f32 / 10.0).collect();
        footage.clouds = Some(Clouds { columns: 8, square: 4, shares });
        assert_ne!(footage.frame(0.0, 9.0), footage.frame(5.0, 9.0));
    }
}
