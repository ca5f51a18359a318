//! Pictures made from other pictures: edit, remix, control images.

use image::RgbaImage;

use super::{
    canvas::{Canvas, Colour, luma, mix, rgb},
    caption, fit, look,
    noise::Draw,
    painting,
    palette::PALETTES,
    picture::Picture,
};
use crate::contract::OperationKind;

/// The range of how far an edited image takes on the palette. Prompt and seed choose the value.
const RESTYLED: (f32, f32) = (0.26, 0.4);

/// The side of the copy that is enlarged to a blurred background.
const GROUND_SIDE: u32 = 6;

/// The complete reference in other colours; if its shape differs, on a blurred background of
/// itself.
pub(super) fn restyled(picture: &Picture, reference: &RgbaImage) -> Canvas {
    let mut canvas = whole_on_itself(reference, picture.size);
    let mut draw = Draw::new(&picture.key());
    let palette = &PALETTES[draw.next() as usize % PALETTES.len()];
    let share = draw.between(RESTYLED.0, RESTYLED.1);
    let (width, height) = (canvas.width as f32, canvas.height as f32);
    canvas.change(|x, y, colour| {
        let toned = tone(luma(colour), [palette.near, palette.far, palette.light]);
        let (across, down) = (x as f32 / width - 0.5, y as f32 / height - 0.5);
        let shade = 1.0 - 0.5 * (across * across + down * down);
        mix(colour, toned, share).map(|part| part * shade)
    });
    look::apply(&mut canvas, &picture.settings);
    canvas
}

/// A tone from dark over middle to light.
fn tone(brightness: f32, [dark, middle, light]: [Colour; 3]) -> Colour {
    if brightness < 0.5 {
        mix(dark, middle, brightness * 2.0)
    } else {
        mix(middle, light, brightness * 2.0 - 1.0)
    }
}

/// The complete image in the centre, on an enlarged and blurred copy of itself.
fn whole_on_itself(image: &RgbaImage, (width, height): (u32, u32)) -> Canvas {
    let whole = fit::contain(image, width, height);
    if whole.dimensions() == (width, height) {
        return Canvas::of(&whole);
    }
    let blurred = fit::cover(image, GROUND_SIDE, GROUND_SIDE);
    let mut canvas = Canvas::of(&fit::cover(&blurred, width, height));
    canvas.change(|_, _, colour| mix(colour, rgb(0x202024), 0.4));
    let at = ((width - whole.width()) / 2, (height - whole.height()) / 2);
    canvas.lay(&Canvas::of(&whole), i64::from(at.0), i64::from(at.1));
    canvas
}

/// A blend from the painting at strength 0 to the image prompt at strength 1.
pub(super) fn remixed(picture: &Picture, image_prompt: &RgbaImage) -> Canvas {
    let mut canvas = painting::of(picture);
    let (width, height) = picture.size;
    let prompt = Canvas::of(&fit::cover(image_prompt, width, height));
    let strength = picture.settings.image_prompt_strength;
    canvas.change(|x, y, painted| {
        mix(painted, prompt.row(y).get(x).copied().unwrap_or(painted), strength)
    });
    canvas
}

/// The edges of the control image, light on dark, or its depth, where low and bright parts are near
/// and light. Both in the colours of the painting.
pub(super) fn controlled(picture: &Picture) -> Option<RgbaImage> {
    let control = picture.reference()?;
    let (width, height) = picture.size;
    // Scaling down and up again smooths the image, so that noise makes no edges.
    let small = fit::cover(&control, width.div_ceil(2), height.div_ceil(2));
    let control = Canvas::of(&fit::cover(&small, width, height));
    let mut canvas = painting::of(picture);
    canvas.change(|x, y, painted| {
        let at = |x: usize, y: usize| control.row(y).get(x).map_or(0.0, |colour| luma(*colour));
        let near = match picture.kind {
            OperationKind::Canny => {
                let (right, below) =
                    ((x + 1).min(control.width - 1), (y + 1).min(control.height - 1));
                let (left, above) = (x.saturating_sub(1), y.saturating_sub(1));
                let (across, down) = (at(right, y) - at(left, y), at(x, below) - at(x, above));
                ((across * across + down * down).sqrt() * 6.0).min(1.0)
            }
            _ => 0.7 * at(x, y) + 0.3 * y as f32 / control.height as f32,
        };
        let light = mix(painted, [1.0; 3], 0.75);
        mix(painted.map(|part| part * 0.15), light, near)
    });
    caption::paint(&mut canvas, picture);
    Some(canvas.into_image())
}
