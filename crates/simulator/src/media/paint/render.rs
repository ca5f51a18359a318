//! Renders a picture with the painter for its operation.

use image::{ImageError, ImageFormat, RgbaImage};

use super::{
    canvas::Canvas,
    caption, cards, deblur, edit,
    encode::encode,
    extend, film, inpaint, painting,
    picture::{Format, Picture},
    try_on,
};
use crate::{contract::OperationKind, media::images::Input};

/// Renders and encodes the picture. The same picture yields the same bytes.
pub(crate) fn render(picture: &Picture) -> Result<Vec<u8>, ImageError> {
    match picture.format {
        Format::Jpeg => encode(pixels(picture), ImageFormat::Jpeg),
        Format::Png => encode(pixels(picture), ImageFormat::Png),
        Format::Webp => encode(pixels(picture), ImageFormat::WebP),
        Format::Video(spec) => film::encode(picture, spec),
    }
}

fn pixels(picture: &Picture) -> RgbaImage {
    let worked = match picture.kind {
        OperationKind::Create | OperationKind::Video | OperationKind::Finetune => None,
        OperationKind::Fill => inpaint::fill(picture),
        OperationKind::Erase => inpaint::erase(picture),
        OperationKind::Deblur => deblur::paint(picture),
        OperationKind::TryOn => try_on::paint(picture),
        OperationKind::Expand => extend::expand(picture),
        OperationKind::Outpaint => extend::outpaint(picture),
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
    let mut canvas = match (prompt, references.as_slice()) {
        (Some(prompt), _) => edit::remixed(picture, &prompt),
        (None, [only]) => match only.decode() {
            Some(reference) => edit::restyled(picture, &reference),
            None => with_cards(picture, &references),
        },
        (None, _) => with_cards(picture, &references),
    };
    caption::paint(&mut canvas, picture);
    canvas.into_image()
}

fn with_cards(picture: &Picture, inputs: &[&Input]) -> Canvas {
    let mut canvas = painting::of(picture);
    let free = caption::above(&canvas, picture);
    let margin = free.width.min(free.height) / 24;
    cards::paint(&mut canvas, inputs, free.inset(margin));
    canvas
}
