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
pub(super) const NOTICE: &str =
    "Painted by the imagekiln simulator: a placeholder, not a model's work";

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
    encoder.set_exif_metadata(exif(NOTICE)).map_err(|error: UnsupportedError| {
        let kind = UnsupportedErrorKind::GenericFeature(error.to_string());
        ImageError::Unsupported(UnsupportedError::from_format_and_kind(format.into(), kind))
    })?;
    pixels.write_with_encoder(encoder)
}

/// Exif metadata with one field, `ImageDescription`, which all three formats support.
fn exif(description: &str) -> Vec<u8> {
    /// The offset of the text, after the header and a directory of one entry.
    const TEXT_AT: u32 = 26;
    let length = description.len() as u32 + 1;
    let mut exif = b"II\x2a\0".to_vec();
    exif.extend(8u32.to_le_bytes());
    exif.extend(1u16.to_le_bytes());
    exif.extend(0x010e_u16.to_le_bytes());
    exif.extend(2u16.to_le_bytes());
    exif.extend(length.to_le_bytes());
    exif.extend(TEXT_AT.to_le_bytes());
    exif.extend(0u32.to_le_bytes());
    exif.extend(description.bytes());
    exif.push(0);
    exif
}
