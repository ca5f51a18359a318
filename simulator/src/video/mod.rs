//! Video: a painted picture that moves, in WebM (VP8 and Opus), which every browser plays.
//!
//! Each second begins with a whole picture, compressed by a kept encoder: the painting under a
//! clock. Between those seconds only a bar at the upper edge grows, which takes no encoder but a
//! few hundred bytes a frame (see [`bar`]). That is what makes 480 frames of two megapixels a
//! matter of a second or two.

mod ask;
mod bar;
mod bool_coder;
mod clock_face;
mod ebml;
mod sound;
mod webm;

use image::RgbImage;
use image::error::{EncodingError, ImageError, ImageFormatHint};
use webp_rust::LossyEncodingConfig;
use webp_rust::encoder::encode_lossy_rgba_to_vp8_with_config;

pub(crate) use ask::Ask;

/// What a browser needs to know to play the file.
pub(crate) const MEDIA_TYPE: &str = "video/webm";

pub(crate) const EXTENSION: &str = "webm";

/// Of 100. What a caption needs to be sharp.
const QUALITY: f32 = 75.0;

/// Whether the operation answers with a video.
pub(crate) fn is_made_by(operation: &str) -> bool {
    operation.ends_with("-video")
}

/// The video that was asked for of a picture: a WebM file. The same picture and the same ask give
/// the same bytes.
pub(crate) fn encode(picture: &RgbImage, ask: Ask) -> Result<Vec<u8>, ImageError> {
    let (width, height) = picture.dimensions();
    let mut seconds = Vec::new();
    for second in 0..ask.duration {
        let mut shown = picture.clone();
        clock_face::paint(&mut shown, ask, second);
        bar::paint(&mut shown, bar::reach(width, 0, ask.fps));
        let mut frames = vec![whole_frame(&shown)?];
        frames.extend(
            (1..ask.fps)
                .map(|frame| bar::frame_after(width, height, bar::reach(width, frame, ask.fps))),
        );
        seconds.push(frames);
    }
    Ok(webm::file(&webm::Film { width, height, fps: ask.fps, seconds }))
}

/// A picture as a VP8 frame that needs no other.
fn whole_frame(picture: &RgbImage) -> Result<Vec<u8>, ImageError> {
    let (width, height) = picture.dimensions();
    let rgba: Vec<_> =
        picture.pixels().flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 0xff]).collect();
    // Method 0 is ten times as fast as the default, for files half as large again.
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
    fn the_narrowest_and_the_largest_pictures_can_be_filmed() {
        for (width, height) in [(1, 1), (16383, 1), (1, 16383), (16, 16), (17, 33), (1920, 1088)] {
            encode(&noise(width, height), Ask { duration: 1, fps: 2 }).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_size_and_rate_can_be_filmed(width in 1u32..150, height in 1u32..150, fps in 1u32..25) {
            let filmed = encode(&noise(width, height), Ask { duration: 1, fps });
            prop_assert!(filmed.is_ok(), "{:?}", filmed.err());
        }
    }
}
