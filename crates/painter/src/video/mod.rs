//! Video: pictures in WebM (VP8), which every browser plays.
//!
//! Each frame is a whole picture with the time at which it is shown, so no frame depends on
//! another. Their number is limited, because a video should be encoded within seconds.

mod webm;

use std::ops::RangeInclusive;

use image::{
    RgbaImage,
    error::{EncodingError, ImageError, ImageFormatHint},
};
use serde::{Deserialize, Serialize};

pub use self::webm::clip;

/// Why a build without the feature `video` makes no video.
const NO_ENCODER: &str =
    "this simulator was compiled without its feature `video`: compile it with default features";

/// A time in a video, in milliseconds.
pub(crate) type Milliseconds = u32;

/// In seconds; the maximum is that of the contract.
pub const DURATIONS: RangeInclusive<i64> = 1..=20;
/// In seconds, if neither the request nor its images determine the duration.
pub const DEFAULT_DURATION: u32 = 5;

/// In frames per second; the maximum is that of the contract.
pub const RATES: RangeInclusive<i64> = 1..=24;
/// In frames per second, if the request has no `fps`.
pub const DEFAULT_RATE: u32 = 24;

/// The maximum frame size of the contract.
const MAX_FRAME: (u32, u32) = (1920, 1088);

/// The maximum number of frames in a second, and of pixels in all frames.
const MAX_RATE: u64 = 6;
const MAX_PIXELS: u64 = 84_000_000;

/// The settings of a video. The contract has no fields for them, so `duration` and `fps` are the
/// simulator's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoSpec {
    /// In seconds.
    pub duration: u32,
    /// The requested number of frames per second, of which a video may have fewer.
    pub fps: u32,
}

/// Whether a frame is not larger than the maximum.
fn fits((width, height): (u32, u32)) -> bool {
    u64::from(width) * u64::from(height) <= u64::from(MAX_FRAME.0) * u64::from(MAX_FRAME.1)
}

impl VideoSpec {
    /// Whether a request could have these settings and frames of `size` pixels.
    pub(crate) fn is_valid(self, size: (u32, u32)) -> bool {
        DURATIONS.contains(&self.duration.into()) && RATES.contains(&self.fps.into()) && fits(size)
    }

    /// The number of frames per second.
    pub(crate) fn rate(self, (width, height): (u32, u32)) -> u32 {
        let second = u64::from(width) * u64::from(height) * u64::from(self.duration);
        let affordable = MAX_PIXELS / second.max(1);
        self.fps.min(affordable.clamp(1, MAX_RATE) as u32).max(1)
    }

    /// When the video ends.
    pub(crate) fn end(self) -> Milliseconds {
        self.duration * 1000
    }

    /// The times of the frames: evenly, and at each of `moments`.
    fn times(self, size: (u32, u32), moments: &[Milliseconds]) -> Vec<Milliseconds> {
        let rate = self.rate(size);
        let even = (0..self.duration * rate).map(|number| (number * 1000 + rate / 2) / rate);
        let within = moments.iter().copied().filter(|moment| *moment < self.end());
        let mut times: Vec<_> = even.chain(within).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Returns why this build cannot make a video with frames of this size, if it cannot.
    pub fn check_size((width, height): (u32, u32)) -> Result<(), String> {
        if !cfg!(feature = "video") {
            return Err(NO_ENCODER.to_owned());
        }
        if fits((width, height)) {
            return Ok(());
        }
        let (max_width, max_height) = MAX_FRAME;
        Err(format!(
            "a video of {width} x {height} pixels exceeds the maximum of \
             {max_width} x {max_height} pixels"
        ))
    }
}

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
    let hint = ImageFormatHint::Name("VP8".to_owned());
    vp8(picture).map_err(|error| ImageError::Encoding(EncodingError::new(hint, error)))
}

#[cfg(feature = "video")]
fn vp8(picture: &RgbaImage) -> Result<Vec<u8>, webp_rust::encoder::EncoderError> {
    use webp_rust::{LossyEncodingConfig, encoder::encode_lossy_rgba_to_vp8_with_config};

    /// From 0 to 100. A caption needs this much to be sharp.
    const QUALITY: f32 = 75.0;
    let (width, height) = picture.dimensions();
    // Method 0 is ten times as fast as the default, and its files are half as large again.
    let config =
        LossyEncodingConfig { quality: QUALITY, method: 0, ..LossyEncodingConfig::default() };
    encode_lossy_rgba_to_vp8_with_config(width as usize, height as usize, picture, &config)
}

/// No request comes this far, but a snapshot of another build may have a video.
#[cfg(not(feature = "video"))]
fn vp8(_picture: &RgbaImage) -> Result<Vec<u8>, &'static str> {
    Err(NO_ENCODER)
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    #[test]
    fn every_size_can_be_encoded() {
        let extreme = [(1, 16383), (16383, 1), (1920, 1088)];
        let small = (1..40).flat_map(|width| [1, 15, 16, 17, 40 - width].map(|tall| (width, tall)));
        for (width, height) in small.chain(extreme) {
            let noise = RgbaImage::from_fn(width, height, |x, y| {
                Rgba([((x * 91) ^ (y * 57)) as u8, (x * y) as u8, (y * 13) as u8, 255])
            });
            let spec = VideoSpec { duration: 1, fps: 2 };
            let encoded = encode((width, height), spec, &[], |_| noise.clone());
            assert!(encoded.is_ok(), "{width} x {height}: {:?}", encoded.err());
        }
    }
}
