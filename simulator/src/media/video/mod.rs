//! Video: a moving picture in WebM (VP8 and Opus), which every browser plays.
//!
//! Some frames of each second are complete pictures, compressed by an encoder. Their number is
//! limited by their size, because they take most of the time. In between only the bar at the top
//! edge grows, which takes no encoder and a few hundred bytes per frame (see [`bar`]). So 480
//! frames of two megapixels take only a few seconds.

#![expect(clippy::indexing_slicing, reason = "within the sizes of colours, palettes and rows")]

mod bar;
mod bool_coder;
mod clock_face;
mod ebml;
mod footage;
mod read;
mod sound;
mod spec;
mod webm;

use image::{
    RgbaImage,
    error::{EncodingError, ImageError, ImageFormatHint},
};
use webp_rust::{LossyEncodingConfig, encoder::encode_lossy_rgba_to_vp8_with_config};

pub(crate) use self::{
    footage::{Clouds, Footage, Shot},
    read::clip,
    spec::{DEFAULT_DURATION, DURATIONS, VideoSpec},
};

/// The media type for players.
pub(crate) const MEDIA_TYPE: &str = "video/webm";

pub(crate) const EXTENSION: &str = "webm";

/// From 0 to 100. A caption needs this much to be sharp.
const QUALITY: f32 = 75.0;

/// The maximum number of whole frames per second, and of pixels in all of them.
const MAX_WHOLE_FRAMES: u64 = 6;
const MAX_PIXELS: u64 = 84_000_000;

/// Encodes footage as a video in a WebM file. The same footage and settings yield the same bytes.
pub(crate) fn encode(footage: &Footage, spec: VideoSpec) -> Result<Vec<u8>, ImageError> {
    let (width, height) = footage.still.dimensions();
    let whole = whole_frames(spec, u64::from(width) * u64::from(height));
    let mut seconds = Vec::new();
    for second in 0..spec.duration {
        let mut frames = Vec::new();
        for frame in 0..spec.fps {
            let reach = bar::reach(width, frame, spec.fps);
            let is_whole = frame == 0 || frame * whole / spec.fps > (frame - 1) * whole / spec.fps;
            frames.push(if is_whole {
                let time = second as f32 + frame as f32 / spec.fps as f32;
                let mut shown = footage.frame(time, spec.duration as f32);
                clock_face::paint(&mut shown, spec, second);
                bar::paint(&mut shown, reach);
                whole_frame(&shown)?
            } else {
                bar::frame_after(width, height, reach)
            });
        }
        seconds.push(frames);
    }
    Ok(webm::file(&webm::Film { width, height, fps: spec.fps, seconds }))
}

/// The number of whole frames per second.
fn whole_frames(spec: VideoSpec, pixels: u64) -> u32 {
    let affordable = MAX_PIXELS / (pixels * u64::from(spec.duration)).max(1);
    (affordable.clamp(1, MAX_WHOLE_FRAMES) as u32).min(spec.fps).max(1)
}

/// A picture as a VP8 key frame.
fn whole_frame(picture: &RgbaImage) -> Result<Vec<u8>, ImageError> {
    let (width, height) = picture.dimensions();
    // Method 0 is ten times as fast as the default, and its files are half as large again.
    let config =
        LossyEncodingConfig { quality: QUALITY, method: 0, ..LossyEncodingConfig::default() };
    encode_lossy_rgba_to_vp8_with_config(width as usize, height as usize, picture, &config).map_err(
        |error| {
            ImageError::Encoding(EncodingError::new(ImageFormatHint::Name("VP8".to_owned()), error))
        },
    )
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use proptest::prelude::*;

    use super::*;

    fn noise(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_fn(width, height, |x, y| {
            Rgba([((x * 91) ^ (y * 57)) as u8, (x * y) as u8, (y * 13) as u8, 255])
        })
    }

    #[test]
    fn extreme_sizes_can_be_encoded() {
        for (width, height) in [(1, 1), (16383, 1), (1, 16383), (16, 16), (17, 33), (1920, 1088)] {
            let footage = Footage::still(noise(width, height));
            encode(&footage, VideoSpec { duration: 1, fps: 2 }).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_size_and_rate_can_be_encoded(
            width in 1u32..150,
            height in 1u32..150,
            fps in 1u32..25,
        ) {
            let footage = Footage::still(noise(width, height));
            let filmed = encode(&footage, VideoSpec { duration: 1, fps });
            prop_assert!(filmed.is_ok(), "{:?}", filmed.err());
        }
    }
}
