//! Photos that are stored turned, as phones store them.

use std::io::Cursor;

use image::{
    DynamicImage, ImageDecoder as _, ImageEncoder, ImageFormat, ImageReader, ImageResult,
    codecs::{jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder},
    metadata::Orientation,
};
use imagekiln::ImageInput;

/// Loses nothing that people see.
const JPEG_QUALITY: u8 = 95;

/// Returns the file of an image as viewers show it; see [`ImageInput::orientation`]. JPEG and WebP
/// keep their format, and others become PNG.
///
/// May block, because it reads and decodes the image. Returns `None` for an image that cannot be
/// decoded.
pub fn turned_upright(image: &ImageInput) -> Option<Vec<u8>> {
    let reader = ImageReader::new(Cursor::new(image.head(usize::MAX)?));
    let reader = reader.with_guessed_format().ok()?;
    let format = reader.format()?;
    let mut decoder = reader.into_decoder().ok()?;
    let profile = decoder.icc_profile().ok()?;
    let mut upright = DynamicImage::from_decoder(decoder).ok()?;
    upright.apply_orientation(Orientation::from_exif(image.orientation())?);
    let mut bytes = Vec::new();
    let written = match format {
        ImageFormat::Jpeg => {
            write(&upright, JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY), profile)
        }
        ImageFormat::WebP => write(&upright, WebPEncoder::new_lossless(&mut bytes), profile),
        _ => write(&upright, PngEncoder::new(&mut bytes), profile),
    };
    written.ok().map(|()| bytes)
}

fn write(
    image: &DynamicImage,
    mut encoder: impl ImageEncoder,
    profile: Option<Vec<u8>>,
) -> ImageResult<()> {
    if let Some(profile) = profile {
        // An encoder that refuses profiles writes none.
        let _ = encoder.set_icc_profile(profile);
    }
    image.write_with_encoder(encoder)
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, Luma};
    use imagekiln_testbed::picture;

    use super::*;

    #[test]
    fn images_are_turned_as_viewers_turn_them_and_keep_their_format() {
        let left = GrayImage::from_fn(64, 96, |x, _| Luma([if x < 16 { 255 } else { 0 }]));
        for format in [ImageFormat::Png, ImageFormat::Jpeg] {
            let file = picture::encoded(left.clone(), format);
            // The left side is shown at the top.
            let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
            let turned = match format {
                ImageFormat::Png => {
                    let chunk = [b"\0\0\0\x16eXIf", &exif[..], &[0; 4]].concat();
                    [&file[..33], &chunk, &file[33..]].concat()
                }
                _ => {
                    let segment = [b"\xff\xe1\0\x1eExif\0\0", &exif[..]].concat();
                    [&file[..2], &segment, &file[2..]].concat()
                }
            };
            let turned = ImageInput::bytes(turned);
            assert_eq!(turned.orientation(), 6, "{format:?}");
            let upright = turned_upright(&turned).unwrap();
            assert_eq!(image::guess_format(&upright).unwrap(), format);
            let upright = image::load_from_memory(&upright).unwrap().into_luma8();
            assert_eq!(upright.dimensions(), (96, 64));
            assert!(upright.get_pixel(90, 3).0[0] > 200 && upright.get_pixel(3, 60).0[0] < 50);
        }
    }
}
