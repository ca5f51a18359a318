//! Video: pictures in WebM (VP8), which every browser plays.
//!
//! Each frame is a whole picture with the time at which it is shown, so no frame depends on
//! another. Their number is limited, because a video should be encoded within seconds.

mod ebml;
mod read;
mod spec;
mod webm;

use image::{
    RgbaImage,
    error::{EncodingError, ImageError, ImageFormatHint},
};
use webp_rust::{LossyEncodingConfig, encoder::encode_lossy_rgba_to_vp8_with_config};

pub(crate) use self::{
    read::clip,
    spec::{DEFAULT_DURATION, DURATIONS, RATES, VideoSpec},
};

/// The media type for players.
pub(crate) const MEDIA_TYPE: &str = "video/webm";

pub(crate) const EXTENSION: &str = "webm";

/// From 0 to 100. A caption needs this much to be sharp.
const QUALITY: f32 = 75.0;

/// A time in a video, in milliseconds.
pub(crate) type Milliseconds = u32;

/// Encodes a video in a WebM file. `frame` makes the frame at a time, of `size` pixels; there is
/// one at each of `moments`. The same frames and settings yield the same bytes.
pub(crate) fn encode(
    size: (u32, u32),
    spec: VideoSpec,
    moments: &[Milliseconds],
    frame: impl Fn(Milliseconds) -> RgbaImage,
) -> Result<Vec<u8>, ImageError> {
    let times = spec.times(size, moments);
    let frames = times.into_iter().map(|time| Ok((time, key_frame(&frame(time))?)));
    let frames = frames.collect::<Result<Vec<_>, ImageError>>()?;
    Ok(webm::file(size, spec.end(), &frames))
}

/// A picture as a VP8 key frame.
fn key_frame(picture: &RgbaImage) -> Result<Vec<u8>, ImageError> {
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

    fn filmed(size: (u32, u32), fps: u32) -> Result<Vec<u8>, ImageError> {
        let noise = RgbaImage::from_fn(size.0, size.1, |x, y| {
            Rgba([((x * 91) ^ (y * 57)) as u8, (x * y) as u8, (y * 13) as u8, 255])
        });
        encode(size, VideoSpec { duration: 1, fps }, &[], |_| noise.clone())
    }

    #[test]
    fn extreme_sizes_can_be_encoded() {
        for size in [(1, 1), (16383, 1), (1, 16383), (16, 16), (17, 33), (1920, 1088)] {
            filmed(size, 2).unwrap();
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
            let filmed = filmed((width, height), fps);
            prop_assert!(filmed.is_ok(), "{:?}", filmed.err());
        }
    }
}
