//! Photos that are stored turned, as phones store them, and masks that may not fit them.

use std::io::Cursor;

use image::{
    DynamicImage, ImageDecoder as _, ImageEncoder, ImageFormat, ImageReader, ImageResult,
    codecs::{jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder},
    metadata::Orientation,
};
use serde_json::Value;

use crate::{failure::Failure, output::Output};
use imagekiln::{FieldKind, ImageInput, Request};

/// High enough that people see no difference.
const JPEG_QUALITY: u8 = 95;

/// Turns the images of a request that are stored turned, so that they are sent as viewers show
/// them.
pub fn turned(request: Request) -> Result<Request, Failure> {
    let mut changes = Request::new(request.operation());
    for name in request.outline().keys() {
        let Some(image) = request.image_in(name) else { continue };
        if image.orientation() == 1 {
            continue;
        }
        // Refuse truncated images first, because a decoder may fill the missing part with gray.
        Request::new(request.operation()).image(name, image.clone()).check_images()?;
        let upright = turned_upright(image).ok_or_else(|| {
            Failure::request(format!("{name}: could not turn the image upright")).advise(
                "nothing was sent; save it upright as JPEG or PNG with an image editor, and leave \
                 --upright out",
            )
        })?;
        changes = changes.image(name, ImageInput::bytes(upright));
    }
    Ok(request.changed_by(changes))
}

/// Describes a mask that fits an image both as it is stored and as viewers show it. Only a person
/// knows on which of them it was drawn.
pub fn ambiguous_mask(request: &Request, field: &str) -> Option<String> {
    let Some(FieldKind::Image { mask_of: Some(masked), .. }) =
        request.operation().field(field).map(|field| &field.kind)
    else {
        return None;
    };
    let outline = request.outline();
    let shown = |name: &str| {
        let image = outline.get(name)?.as_object()?;
        let side = |name| image.get(name).and_then(Value::as_u64);
        let orientation = image.get("orientation").and_then(Value::as_u64).unwrap_or(1);
        let sides = (side("width")?, side("height")?);
        Some((if orientation > 4 { (sides.1, sides.0) } else { sides }, orientation))
    };
    let ((mask_sides, mask), (sides, orientation)) = (shown(field)?, shown(masked)?);
    (mask_sides == sides && mask != orientation).then(|| {
        format!("`{masked}` has the EXIF orientation {orientation} and `{field}` has {mask}")
    })
}

/// The advice for an ambiguous mask.
pub const MASK_ADVICE: &str = "if the mask was drawn on what viewers show, pass --upright";

/// Warns if a mask fits an image both as it is stored and as viewers show it.
pub fn warn(output: &Output, request: &Request, field: &str) {
    if let Some(masks) = ambiguous_mask(request, field) {
        output.warning(&format!("{masks}: {MASK_ADVICE}"));
    }
}

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
        // An encoder without support for profiles writes the image without one.
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
