//! Encodes pixels to a file that is labeled as a placeholder.

use image::{
    DynamicImage, ImageEncoder, ImageError, ImageFormat, RgbaImage,
    codecs::jpeg::JpegEncoder,
    codecs::png::PngEncoder,
    codecs::webp::WebPEncoder,
    error::{UnsupportedError, UnsupportedErrorKind},
};

use super::canvas::Canvas;

/// The label in every file.
const NOTICE: &str = "Painted by the imagekiln simulator: a placeholder, not a model's work";

/// Encodes as png or webp without loss, or as jpeg, which shows white instead of transparency.
pub(super) fn encode(pixels: RgbaImage, format: ImageFormat) -> Result<Vec<u8>, ImageError> {
    let is_opaque = pixels.pixels().all(|pixel| pixel.0[3] == 255);
    let pixels = match format {
        ImageFormat::Jpeg if !is_opaque => Canvas::of(&pixels).into_image(),
        _ => pixels,
    };
    let mut pixels = DynamicImage::from(pixels);
    if is_opaque || format == ImageFormat::Jpeg {
        pixels = pixels.into_rgb8().into();
    }
    let mut bytes = Vec::new();
    match format {
        ImageFormat::Jpeg => write(&pixels, JpegEncoder::new(&mut bytes), format),
        ImageFormat::WebP => write(&pixels, WebPEncoder::new_lossless(&mut bytes), format),
        _ => write(&pixels, PngEncoder::new(&mut bytes), format),
    }?;
    Ok(bytes)
}

fn write(
    pixels: &DynamicImage,
    mut encoder: impl ImageEncoder,
    format: ImageFormat,
) -> Result<(), ImageError> {
    encoder.set_exif_metadata(exif()).map_err(|error: UnsupportedError| {
        let kind = UnsupportedErrorKind::GenericFeature(error.to_string());
        ImageError::Unsupported(UnsupportedError::from_format_and_kind(format.into(), kind))
    })?;
    pixels.write_with_encoder(encoder)
}

/// Exif metadata with one field, `ImageDescription`, which all three formats support.
fn exif() -> Vec<u8> {
    let length = (NOTICE.len() as u32 + 1).to_le_bytes();
    let parts: [&[u8]; 6] = [
        // Numbers are little-endian, and the directory follows at offset 8.
        b"II\x2a\0\x08\0\0\0",
        // One entry: a text of this length at offset 26.
        b"\x01\0\x0e\x01\x02\0",
        &length,
        b"\x1a\0\0\0\0\0\0\0",
        NOTICE.as_bytes(),
        b"\0",
    ];
    parts.concat()
}
