//! Renders a picture with the painter for its operation.

use image::{
    DynamicImage, ImageEncoder, ImageError, RgbaImage,
    codecs::{jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder},
};

use super::{
    canvas::Canvas,
    caption, cards, edit, film, painting,
    picture::{Format, OperationKind, Picture},
    try_on,
};

/// Renders and encodes the picture. The same picture yields the same bytes.
pub fn render(picture: &Picture) -> Result<Vec<u8>, ImageError> {
    if let Format::Video(spec) = picture.format {
        return film::encode(picture, spec);
    }
    let (pixels, is_jpeg) = (pixels(picture), picture.format == Format::Jpeg);
    let is_opaque = pixels.pixels().all(|pixel| pixel.0[3] == 255);
    // A jpeg shows white instead of transparency.
    let pixels = if is_jpeg && !is_opaque { Canvas::of(&pixels).into_image() } else { pixels };
    let mut pixels = DynamicImage::from(pixels);
    if is_jpeg || is_opaque {
        pixels = pixels.into_rgb8().into();
    }
    let mut bytes = Vec::new();
    match picture.format {
        Format::Jpeg => write(&pixels, JpegEncoder::new(&mut bytes)),
        Format::Webp => write(&pixels, WebPEncoder::new_lossless(&mut bytes)),
        _ => write(&pixels, PngEncoder::new(&mut bytes)),
    }?;
    Ok(bytes)
}

fn pixels(picture: &Picture) -> RgbaImage {
    let worked = match picture.kind {
        OperationKind::Create | OperationKind::Video | OperationKind::Finetune => None,
        OperationKind::Fill => edit::fill(picture),
        OperationKind::Erase => edit::erase(picture),
        OperationKind::Deblur => edit::deblurred(picture),
        OperationKind::TryOn => try_on::paint(picture),
        OperationKind::Expand | OperationKind::Outpaint => edit::around(picture),
        OperationKind::Canny | OperationKind::Depth => edit::controlled(picture),
    };
    // Even if the image to edit is missing, or was given by its URL.
    worked.unwrap_or_else(|| created(picture))
}

/// A painting with the images of the request.
fn created(picture: &Picture) -> RgbaImage {
    let (prompts, references): (Vec<_>, Vec<_>) =
        picture.inputs.iter().partition(|input| input.place == "image_prompt");
    let prompt = prompts.first().and_then(|prompt| prompt.decode());
    let only = match references.as_slice() {
        [only] => only.decode(),
        _ => None,
    };
    let canvas = match (prompt, only) {
        (Some(prompt), _) => edit::remixed(picture, &prompt),
        (None, Some(reference)) => edit::restyled(picture, &reference),
        (None, None) => {
            let mut canvas = painting::of(picture);
            let free = caption::above(&canvas, picture);
            let margin = free.width.min(free.height) / 24;
            cards::paint(&mut canvas, &references, free.inset(margin));
            canvas
        }
    };
    caption::paint(canvas, picture)
}

/// The label in every file.
const NOTICE: &str = "Painted by the imagekiln simulator: a placeholder, not a model's work";

/// Writes the file, with Exif metadata of one field, `ImageDescription`, which all three formats
/// support.
fn write(pixels: &DynamicImage, mut encoder: impl ImageEncoder) -> Result<(), ImageError> {
    let length = (NOTICE.len() as u32 + 1).to_le_bytes();
    // Numbers are little-endian, and the directory follows at offset 8. It has one entry: a text of
    // this length at offset 26.
    let (head, entry) = (b"II\x2a\0\x08\0\0\0", b"\x01\0\x0e\x01\x02\0");
    let exif =
        [&head[..], entry, &length, b"\x1a\0\0\0\0\0\0\0", NOTICE.as_bytes(), b"\0"].concat();
    encoder.set_exif_metadata(exif).map_err(ImageError::Unsupported)?;
    pixels.write_with_encoder(encoder)
}
