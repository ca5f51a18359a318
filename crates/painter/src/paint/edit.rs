//! Pictures made from other pictures. Those of fill, erase, expand and outpainting have no caption:
//! the rest must not change, and the new part is what was asked for.

use std::ops::Range;

use image::{DynamicImage, GrayImage, Luma, Rgba, RgbaImage, imageops};

use super::{
    canvas::{Area, Canvas, WHITE, luma, mix, rgb},
    caption, fit,
    noise::{Draw, smooth},
    painting,
    palette::PALETTES,
    picture::{OperationKind, Picture},
};

/// The range of how far an edited image takes on the palette. Prompt and seed choose the value.
const RESTYLED: (f32, f32) = (0.26, 0.4);

/// The side of the copy that is enlarged to a blurred background.
const GROUND_SIDE: u32 = 6;

/// The complete reference in other colours; if its shape differs, on a blurred background of
/// itself.
pub(super) fn restyled(picture: &Picture, reference: &RgbaImage) -> Canvas {
    let mut canvas = whole_on_itself(reference, picture.size);
    let mut draw = Draw::new(&picture.key());
    let palette = draw.pick(&PALETTES);
    let share = draw.between(RESTYLED.0, RESTYLED.1);
    let (width, height) = (canvas.width as f32, canvas.height as f32);
    canvas.change(|x, y, colour| {
        let bright = luma(colour) * 2.0;
        let toned = if bright < 1.0 {
            mix(palette.near, palette.far, bright)
        } else {
            mix(palette.far, palette.light, bright - 1.0)
        };
        let (across, down) = (x as f32 / width - 0.5, y as f32 / height - 0.5);
        let shade = 1.0 - 0.5 * (across * across + down * down);
        mix(colour, toned, share).map(|part| part * shade)
    });
    painting::apply_settings(&mut canvas, &picture.settings);
    canvas
}

/// The complete image in the centre, on an enlarged and blurred copy of itself.
fn whole_on_itself(image: &RgbaImage, size: (u32, u32)) -> Canvas {
    let whole = fit::contain(image, size);
    if whole.dimensions() == size {
        return Canvas::of(&whole);
    }
    let blurred = fit::cover(image, (GROUND_SIDE, GROUND_SIDE));
    let mut canvas = Canvas::of(&fit::cover(&blurred, size));
    canvas.change(|_, _, colour| mix(colour, rgb(0x202024), 0.4));
    canvas.lay(&whole, canvas.area());
    canvas
}

/// A blend from the painting at strength 0 to the image prompt at strength 1.
pub(super) fn remixed(picture: &Picture, image_prompt: &RgbaImage) -> Canvas {
    let mut canvas = painting::of(picture);
    let prompt = Canvas::of(&fit::cover(image_prompt, picture.size));
    let strength = picture.settings.image_prompt_strength;
    canvas.change(|x, y, painted| mix(painted, prompt.row(y)[x], strength));
    canvas
}

/// The edges of the control image, light on dark, or its depth, where low and bright parts are near
/// and light. Both in the colours of the painting.
pub(super) fn controlled(picture: &Picture) -> Option<RgbaImage> {
    let control = picture.reference()?;
    let (width, height) = picture.size;
    // Scaling down and up again smooths the image, so that noise makes no edges.
    let small = fit::cover(&control, (width.div_ceil(2), height.div_ceil(2)));
    let control = Canvas::of(&fit::cover(&small, picture.size));
    let mut canvas = painting::of(picture);
    canvas.change(|x, y, painted| {
        let at = |x: usize, y: usize| luma(control.row(y)[x]);
        let near = match picture.kind {
            OperationKind::Canny => {
                let across = at((x + 1).min(control.width - 1), y) - at(x.saturating_sub(1), y);
                let down = at(x, (y + 1).min(control.height - 1)) - at(x, y.saturating_sub(1));
                ((across * across + down * down).sqrt() * 6.0).min(1.0)
            }
            _ => 0.7 * at(x, y) + 0.3 * y as f32 / control.height as f32,
        };
        let light = mix(painted, WHITE, 0.75);
        mix(painted.map(|part| part * 0.15), light, near)
    });
    Some(caption::paint(canvas, picture))
}

/// The radius of the blur to remove, in pixels, and the amount, for each pass: first large edges,
/// then fine detail.
const PASSES: [(u32, f32); 2] = [(4, 0.9), (2, 1.4)];

/// Sharpens the image.
pub(super) fn deblurred(picture: &Picture) -> Option<RgbaImage> {
    let image = picture.image()?;
    let mut pixels =
        PASSES.iter().fold(image, |image, (by, amount)| sharpened(image, *by, *amount));
    let canvas = Canvas::of(&pixels);
    let free = caption::above(&canvas, picture).height;
    // The transparency stays, except under the caption.
    let captioned = caption::paint(canvas, picture);
    for (x, y, pixel) in pixels.enumerate_pixels_mut().filter(|(_, y, _)| i64::from(*y) >= free) {
        *pixel = *captioned.get_pixel(x, y);
    }
    Some(pixels)
}

/// Amplifies the difference between each pixel and its surroundings.
fn sharpened(mut image: RgbaImage, radius: u32, amount: f32) -> RgbaImage {
    let (width, height) = image.dimensions();
    // Blurring a smaller image is faster and looks the same.
    let small = fit::cover(&image, (width.div_ceil(radius), height.div_ceil(radius)));
    let small = DynamicImage::from(small).fast_blur(1.0).into_rgb8();
    let blurred = Canvas::of(&DynamicImage::from(small).into_rgba8());
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        let (across, down) = ((x as f32 + 0.5) / width as f32, (y as f32 + 0.5) / height as f32);
        for (part, blurred) in pixel.0.iter_mut().zip(blurred.at(across, down)) {
            let apart = f32::from(*part) - blurred * 255.0;
            *part = (f32::from(*part) + apart * amount).round().clamp(0.0, 255.0) as u8;
        }
    }
    image
}

/// Beyond its edges the image is drawn from a copy smaller by this factor, so that the added part
/// is visibly softer.
const SOFTNESS: u32 = 24;

/// Places the image in the picture, at its offsets or centred, and paints around it. Near the image
/// this is a soft mirror image of it, which fades into the painting.
pub(super) fn around(picture: &Picture) -> Option<RgbaImage> {
    let (image, offset) = match (picture.kind, picture.settings.added) {
        (OperationKind::Expand, (left, top)) => (picture.image()?, (Some(left), Some(top))),
        _ => (picture.reference()?, picture.settings.offset),
    };
    let (width, height) = (i64::from(image.width()), i64::from(image.height()));
    let middle = |whole: u32, part: i64| (i64::from(whole) - part).div_euclid(2);
    let x = offset.0.unwrap_or(middle(picture.size.0, width));
    let y = offset.1.unwrap_or(middle(picture.size.1, height));
    let mut canvas = painting::part(picture, picture.size);
    let softened = |length: u32| length.div_ceil(SOFTNESS).max(2);
    let small = (softened(image.width()), softened(image.height()));
    let small = Canvas::of(&fit::contain(&image, small));
    let reach = (width.min(height) as f32 * 0.6).max(1.0);
    let outside = |at: i64, length: i64| (-at).max(at - length + 1).max(0);
    canvas.change(|column, row, painted| {
        let (across, down) = (column as i64 - x, row as i64 - y);
        let (dx, dy) = (outside(across, width), outside(down, height));
        let distance = ((dx * dx + dy * dy) as f32).sqrt();
        let share = 1.0 - smooth((distance / reach).min(1.0));
        mix(painted, small.at(mirrored(across, width), mirrored(down, height)), share)
    });
    // A thin line around the image, which covers the rest of the rectangle.
    canvas.blend_rectangle(Area { x, y, width, height }.inset(-1), WHITE, 0.5);
    let mut pixels = canvas.into_image();
    imageops::replace(&mut pixels, &image, x, y);
    Some(pixels)
}

/// The mirrored position within the range, from 0 to 1.
fn mirrored(at: i64, length: i64) -> f32 {
    let period = (length * 2).max(1);
    let folded = at.rem_euclid(period);
    (folded.min(period - 1 - folded) as f32 + 0.5) / length.max(1) as f32
}

/// Paints where the mask is white, or, without a mask, where the image is transparent. Grey blends
/// both.
pub(super) fn fill(picture: &Picture) -> Option<RgbaImage> {
    let mut image = picture.image()?;
    let mask = match picture.mask() {
        Some(mask) => mask,
        None => {
            // The alpha channel is the mask, and not part of the picture.
            let take = |pixel: &mut Rgba<u8>| 255 - std::mem::replace(&mut pixel.0[3], 255);
            let transparency = image.pixels_mut().map(take).collect();
            GrayImage::from_raw(image.width(), image.height(), transparency)?
        }
    };
    if mask.dimensions() != image.dimensions() {
        return None;
    }
    let (left, top, width, height) = bounds(&mask);
    if width == 0 {
        return Some(image);
    }
    let part = painting::part(picture, (width, height)).into_image();
    for (x, y, new) in part.enumerate_pixels() {
        let covered = u32::from(mask.get_pixel(left + x, top + y).0[0]);
        let pixel = image.get_pixel_mut(left + x, top + y);
        for (part, new) in pixel.0.iter_mut().zip(new.0) {
            let sum = u32::from(*part) * (255 - covered) + u32::from(new) * covered;
            *part = ((sum + 127) / 255) as u8;
        }
    }
    Some(image)
}

/// The colour of an area without any surroundings.
const NOTHING: Pixel = [128.0, 128.0, 128.0, 255.0];

/// The number of pixels at either end of a hole whose mean is continued, so that a texture makes no
/// streaks.
const RIM: usize = 8;

type Pixel = [f32; 4];

/// Fills the area of the dilated mask from what is beside it, along the horizon if possible. The
/// other pixels stay unchanged.
pub(super) fn erase(picture: &Picture) -> Option<RgbaImage> {
    let mut image = picture.image()?;
    let mask = picture.mask().filter(|mask| mask.dimensions() == image.dimensions())?;
    let holes = dilated(&mask, picture.settings.dilation);
    let (width, height) = (image.width() as usize, image.height() as usize);
    let known = image.pixels().zip(holes.pixels());
    let known = known.map(|(pixel, hole)| (hole.0[0] == 0).then(|| pixel.0.map(f32::from)));
    let mut pixels: Vec<Option<Pixel>> = known.collect();
    for y in 0..height {
        bridge(&mut pixels, y * width, 1, width);
    }
    // What is left are complete rows.
    for x in 0..width {
        bridge(&mut pixels, x, width, height);
    }
    for (pixel, filled) in image.pixels_mut().zip(pixels) {
        pixel.0 = filled.unwrap_or(NOTHING).map(|part| part.round() as u8);
    }
    Some(image)
}

/// Fills the holes in a line of pixels, which starts at `first` and has one every `step`: with a
/// blend from one end of the hole to the other, or with the colour of its only end.
fn bridge(pixels: &mut [Option<Pixel>], first: usize, step: usize, length: usize) {
    let mut start = 0;
    while start < length {
        let at = |place: usize| first + place * step;
        let is_known = |place: &usize| pixels[at(*place)].is_some();
        let Some(hole) = (start..length).find(|place| !is_known(place)) else { return };
        let end = (hole..length).find(is_known).unwrap_or(length);
        let next = (end..length).find(|place| !is_known(place)).unwrap_or(length);
        let mean = |places: Range<usize>| {
            let count = places.len() as f32;
            let known = places.filter_map(|place| pixels[at(place)]);
            let sum =
                known.reduce(|sum, pixel| std::array::from_fn(|part| sum[part] + pixel[part]));
            sum.map(|sum| sum.map(|part| part / count))
        };
        let left = mean(hole.saturating_sub(RIM).max(start)..hole);
        let right = mean(end..next.min(end + RIM));
        let Some((from, to)) = left.or(right).zip(right.or(left)) else { return };
        for place in hole..end {
            let share = (place - hole + 1) as f32 / (end - hole + 1) as f32;
            pixels[at(place)] =
                Some(std::array::from_fn(|part| from[part] + (to[part] - from[part]) * share));
        }
        start = end;
    }
}

/// A binary mask: 255 where `mask` is closer to white, and up to `by` pixels around that, in
/// squares; 0 elsewhere.
pub(super) fn dilated(mask: &GrayImage, by: u32) -> GrayImage {
    let (width, height) = mask.dimensions();
    // The number of white pixels above and to the left of each position.
    let across = width as usize + 1;
    let mut counts = vec![0u32; across * (height as usize + 1)];
    let at = |x: u32, y: u32| x.min(width) as usize + y.min(height) as usize * across;
    for (x, y, pixel) in mask.enumerate_pixels() {
        let beside = counts[at(x, y + 1)] + counts[at(x + 1, y)] - counts[at(x, y)];
        counts[at(x + 1, y + 1)] = beside + u32::from(pixel.0[0] > 127);
    }
    GrayImage::from_fn(width, height, |x, y| {
        let after = |at: u32| at.saturating_add(by).saturating_add(1);
        let (left, top) = (x.saturating_sub(by), y.saturating_sub(by));
        let (right, bottom) = (after(x), after(y));
        let outside = counts[at(left, bottom)] + counts[at(right, top)];
        let within = counts[at(right, bottom)] + counts[at(left, top)] - outside;
        Luma([if within > 0 { 255 } else { 0 }])
    })
}

/// The left and upper edge, the width and the height of the smallest rectangle that contains
/// everything that is not black.
pub(super) fn bounds(mask: &GrayImage) -> (u32, u32, u32, u32) {
    let is_covered = |(_, _, pixel): &(u32, u32, &Luma<u8>)| pixel.0[0] > 0;
    let covered = mask.enumerate_pixels().filter(is_covered);
    let (left, top, right, bottom) =
        covered.fold((u32::MAX, u32::MAX, 0, 0), |(left, top, right, bottom), (x, y, _)| {
            (left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1))
        });
    (left, top, right.saturating_sub(left), bottom.saturating_sub(top))
}
