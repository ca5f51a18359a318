//! Video: pictures in WebM (VP8), which every browser plays.
//!
//! Each frame is a whole picture with the time at which it is shown, so no frame depends on
//! another. Their number is limited, because a video should be encoded within seconds.

mod read;
mod spec;
mod webm;

use image::{
    RgbaImage,
    error::{EncodingError, ImageError, ImageFormatHint},
};

pub(crate) use self::{
    read::clip,
    spec::{DEFAULT_DURATION, DURATIONS, RATES, VideoSpec},
};

/// The media type for players.
pub(crate) const MEDIA_TYPE: &str = "video/webm";

/// Why a build without the feature `video` makes no video.
const NO_ENCODER: &str =
    "this simulator was compiled without its feature `video`: compile it with default features";

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
