//! Video: an animated picture in WebM (VP8 and Opus), which every browser plays.
//!
//! Each second starts with a complete picture, compressed by an encoder: the painting with a clock.
//! In between only the bar at the top edge grows, which takes no encoder and a few hundred bytes
//! per frame (see [`bar`]). So 480 frames of two megapixels take only a second or two.

mod bar;
mod bool_coder;
mod clock_face;
mod ebml;
mod sound;
mod spec;
mod webm;

use image::{
    RgbImage,
    error::{EncodingError, ImageError, ImageFormatHint},
};
use webp_rust::{LossyEncodingConfig, encoder::encode_lossy_rgba_to_vp8_with_config};

pub(crate) use self::spec::VideoSpec;

/// The media type for players.
pub(crate) const MEDIA_TYPE: &str = "video/webm";

pub(crate) const EXTENSION: &str = "webm";

/// From 0 to 100. A caption needs this much to be sharp.
const QUALITY: f32 = 75.0;

/// Whether the operation creates a video.
pub(crate) fn is_made_by(operation: &str) -> bool {
    operation.ends_with("-video")
}

/// Encodes a picture as a video in a WebM file. The same picture and settings yield the same bytes.
pub(crate) fn encode(picture: &RgbImage, spec: VideoSpec) -> Result<Vec<u8>, ImageError> {
    let (width, height) = picture.dimensions();
    let mut seconds = Vec::new();
    for second in 0..spec.duration {
        let mut shown = picture.clone();
        clock_face::paint(&mut shown, spec, second);
        bar::paint(&mut shown, bar::reach(width, 0, spec.fps));
        let mut frames = vec![whole_frame(&shown)?];
        frames.extend(
            (1..spec.fps)
                .map(|frame| bar::frame_after(width, height, bar::reach(width, frame, spec.fps))),
        );
        seconds.push(frames);
    }
    Ok(webm::file(&webm::Film { width, height, fps: spec.fps, seconds }))
}

/// A picture as a VP8 key frame.
fn whole_frame(picture: &RgbImage) -> Result<Vec<u8>, ImageError> {
    let (width, height) = picture.dimensions();
    let rgba: Vec<_> =
        picture.pixels().flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 0xff]).collect();
    // Method 0 is ten times as fast as the default, and its files are half as large again.
    let config =
        LossyEncodingConfig { quality: QUALITY, method: 0, ..LossyEncodingConfig::default() };
    encode_lossy_rgba_to_vp8_with_config(width as usize, height as usize, &rgba, &config).map_err(
        |error| {
            ImageError::Encoding(EncodingError::new(ImageFormatHint::Name("VP8".to_owned()), error))
        },
    )
}

#[cfg(test)]
mod tests {
    use image::Rgb;
    use proptest::prelude::*;

    use super::*;

    fn noise(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| {
            Rgb([((x * 91) ^ (y * 57)) as u8, (x * y) as u8, (y * 13) as u8])
        })
    }

    #[test]
    fn extreme_sizes_can_be_encoded() {
        for (width, height) in [(1, 1), (16383, 1), (1, 16383), (16, 16), (17, 33), (1920, 1088)] {
            encode(&noise(width, height), VideoSpec { duration: 1, fps: 2 }).unwrap();
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
            let filmed = encode(&noise(width, height), VideoSpec { duration: 1, fps });
            prop_assert!(filmed.is_ok(), "{:?}", filmed.err());
        }
    }
}
