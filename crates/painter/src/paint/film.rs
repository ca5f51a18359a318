//! Videos: a painting that comes slowly nearer, keyframes that blend into each other, or the frames
//! of another video.

use image::{ImageError, RgbaImage};

use super::{canvas::Canvas, caption, edit, fit, noise::smooth, painting, picture::Picture};
use crate::video::{self, Milliseconds, VideoSpec};

/// The prefix of the places of a given video's frames.
pub const CLIP: &str = "video.";

/// How much a picture is enlarged while it is shown.
const ZOOM: f32 = 0.08;

/// Renders and encodes a video.
pub(super) fn encode(picture: &Picture, spec: VideoSpec) -> Result<Vec<u8>, ImageError> {
    let mut shots = shots(picture);
    let first = shots.first().map(|(_, picture)| Canvas::of(picture));
    let canvas = first.unwrap_or_else(|| painting::of(picture));
    if shots.is_empty() {
        shots.push((0, canvas.clone().into_image()));
    }
    // The rest of the picture, the caption, stays still.
    let moving = caption::above(&canvas, picture).height.max(0) as u32;
    let still = caption::paint(canvas, picture);
    // The frames of another video have a movement of their own.
    let is_clip = picture.inputs.iter().any(|input| input.place.starts_with(CLIP));
    let moments: Vec<_> = shots.iter().map(|(at, _)| *at).collect();
    video::encode(picture.size, spec, &moments, |time| {
        let mut frame = still.clone();
        let next = moments.partition_point(|at| *at <= time);
        let Some((at, picture)) = shots.get(next.saturating_sub(1)) else { return frame };
        let after = shots.get(next).filter(|_| next > 0);
        let span = after.map_or(spec.end(), |(after, _)| *after).saturating_sub(*at).max(1);
        let part = time.saturating_sub(*at) as f32 / span as f32;
        let zoom = if is_clip { 1.0 } else { 1.0 + ZOOM * part };
        lay(picture, &mut frame, moving, zoom, 256);
        if let Some((_, after)) = after {
            lay(after, &mut frame, moving, 1.0, (smooth(part) * 256.0) as u32);
        }
        frame
    })
}

/// The images of the request that have a time, each with that time, in order and of the same size.
fn shots(picture: &Picture) -> Vec<(Milliseconds, RgbaImage)> {
    let timed = picture.inputs.iter().zip(&picture.moments);
    let shots = timed.filter_map(|(input, at)| {
        let image = input.decode()?;
        let shown = if input.place.starts_with(CLIP) {
            edit::restyled(picture, &image)
        } else {
            Canvas::of(&fit::cover(&image, picture.size))
        };
        Some((((*at)? * 1000.0).round() as Milliseconds, shown.into_image()))
    });
    shots.collect()
}

/// Blends the enlarged middle of `source` over the first rows of `frame`, by a share of 256.
fn lay(source: &RgbaImage, frame: &mut RgbaImage, rows: u32, zoom: f32, share: u32) {
    let nearest = |length: u32| {
        let start = length as f32 * (1.0 - 1.0 / zoom) / 2.0;
        (0..length).map(move |at| (start + at as f32 / zoom) as u32)
    };
    let columns: Vec<_> = nearest(source.width()).collect();
    for (y, from) in nearest(rows).enumerate() {
        for (x, column) in columns.iter().enumerate() {
            let old = frame.get_pixel_mut(x as u32, y as u32);
            let new = source.get_pixel(*column, from);
            for (old, new) in old.0.iter_mut().zip(new.0) {
                *old = ((u32::from(*old) * (256 - share) + u32::from(new) * share) >> 8) as u8;
            }
        }
    }
}
