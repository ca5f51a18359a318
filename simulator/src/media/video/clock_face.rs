//! The clock in the corner, which shows the current second and the duration.

use ab_glyph::{Font as _, FontRef, PxScale, ScaleFont as _, point};
use epaint_default_fonts::HACK_REGULAR;
use image::{Rgb, RgbImage};

use super::VideoSpec;

/// Below the bar.
const TOP: u32 = 16;

const GROUND: Rgb<u8> = Rgb([0x0a, 0x0c, 0x14]);
const INK: Rgb<u8> = Rgb([0xff; 3]);

/// Paints the clock if there is room for it.
pub(super) fn paint(picture: &mut RgbImage, spec: VideoSpec, second: u32) {
    let Ok(font) = FontRef::try_from_slice(HACK_REGULAR) else { return };
    let size = (picture.width().min(picture.height()) as f32 * 0.05).max(12.0);
    let scaled = font.as_scaled(PxScale::from(size));
    let total = spec.duration.to_string();
    let time = format!("{second:>digits$} s of {total} s", digits = total.len());
    let margin = (size * 0.5).round();
    let advance = |character| scaled.h_advance(font.glyph_id(character));
    let width = (time.chars().map(advance).sum::<f32>() + 2.0 * margin) as u32;
    let height = (scaled.height() + margin) as u32;
    if width > picture.width() || TOP + 2 * height > picture.height() {
        return;
    }
    for y in TOP..TOP + height {
        for x in 0..width {
            picture.put_pixel(x, y, GROUND);
        }
    }
    let (mut x, baseline) = (margin, TOP as f32 + (margin * 0.5 + scaled.ascent()).round());
    for character in time.chars() {
        let glyph = font.glyph_id(character).with_scale_and_position(size, point(x, baseline));
        x += advance(character);
        let Some(outline) = font.outline_glyph(glyph) else { continue };
        let corner = outline.px_bounds().min;
        outline.draw(|dx, dy, share| {
            // Casting clamps coordinates left of or above the picture to zero, which is in the
            // clock's background.
            let place = (corner.x as u32 + dx, corner.y as u32 + dy);
            if let Some(pixel) = picture.get_pixel_mut_checked(place.0, place.1) {
                *pixel = mix(GROUND, INK, share);
            }
        });
    }
}

fn mix(a: Rgb<u8>, b: Rgb<u8>, share: f32) -> Rgb<u8> {
    let part =
        |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share.clamp(0.0, 1.0)) as u8;
    Rgb([part(a[0], b[0]), part(a[1], b[1]), part(a[2], b[2])])
}
