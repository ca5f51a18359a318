//! The footage of a video: a painting, keyframes, or the frames of another video.

use super::{
    canvas::Canvas,
    caption, edit, fit,
    noise::{Draw, cloud},
    painting,
    picture::Picture,
};
use crate::media::video::{Clouds, Footage, Shot};

/// The prefix of the places of a given video's frames.
pub(crate) const CLIP: &str = "video.";

/// Clouds cover this share of the rows.
const SKY: f32 = 0.45;

/// The thickest clouds cover this share of what is behind them.
const THICKNESS: f32 = 0.5;

/// A square of the grid of clouds, in pixels.
const SQUARE: usize = 16;

pub(super) fn footage(picture: &Picture) -> Footage {
    let shots = shots(picture);
    let is_painted = shots.is_empty();
    let first = shots.first().map(|shot| Canvas::of(&shot.picture));
    let mut canvas = first.unwrap_or_else(|| painting::of(picture));
    let painting = is_painted.then(|| canvas.clone().into_image_with_alpha());
    let moving = caption::above(&canvas, picture).height.max(0) as u32;
    caption::paint(&mut canvas, picture);
    let mut draw = Draw::new(&picture.key());
    let toward = (draw.between(-1.0, 1.0), draw.between(-1.0, 1.0));
    let is_clip = picture.inputs.iter().any(|input| input.place.starts_with(CLIP));
    Footage {
        shots: match painting {
            Some(picture) => vec![Shot { at: 0.0, picture }],
            None => shots,
        },
        still: canvas.into_image_with_alpha(),
        moving,
        toward: (!is_clip).then_some(toward),
        clouds: (is_painted && picture.scene().has_sky())
            .then(|| clouds(picture, draw.next(), moving)),
    }
}

/// The images of the request that have a time.
fn shots(picture: &Picture) -> Vec<Shot> {
    let (width, height) = picture.size;
    let timed = picture.inputs.iter().zip(&picture.moments);
    let shots = timed.filter_map(|(input, at)| {
        let image = input.decode()?;
        let shown = if input.place.starts_with(CLIP) {
            edit::restyled(picture, &image).into_image_with_alpha()
        } else {
            Canvas::of(&fit::cover(&image, width, height)).into_image_with_alpha()
        };
        Some(Shot { at: (*at)?, picture: shown })
    });
    shots.collect()
}

/// Clouds that are thickest at the top.
fn clouds(picture: &Picture, seed: u64, rows: u32) -> Clouds {
    let (width, height) = picture.size;
    let (width, short, rows) = (width as usize, width.min(height), (rows as f32 * SKY) as usize);
    // Mirrored, so that the grid can be repeated.
    let half = width / SQUARE + 2;
    let columns = half * 2;
    let lines = rows / SQUARE + 2;
    let scale = 40.0 / (short.max(1) as f32);
    let share = |index: usize| {
        let (column, line) = (index % columns, index / columns);
        let x = column.min(columns - 1 - column) as f32 * scale;
        let thick = (cloud(seed, x, line as f32 * scale * 2.4, 4) - 0.55) * 4.0;
        let fading = 1.0 - line as f32 / (lines - 1) as f32;
        thick.clamp(0.0, 1.0) * fading * THICKNESS
    };
    Clouds { columns, square: SQUARE, shares: (0..columns * lines).map(share).collect() }
}
