//! The clock in the corner, which shows the current second and the duration.

use image::{Rgba, RgbaImage};

use super::VideoSpec;
use crate::media::text::PLAIN;

/// Below the bar.
const TOP: u32 = 16;

const GROUND: Rgba<u8> = Rgba([0x0a, 0x0c, 0x14, 0xff]);
const INK: Rgba<u8> = Rgba([0xff; 4]);

/// Paints the clock if there is room for it.
pub(super) fn paint(picture: &mut RgbaImage, spec: VideoSpec, second: u32) {
    let size = (picture.width().min(picture.height()) as f32 * 0.05).max(12.0);
    let total = spec.duration.to_string();
    let time = format!("{second:>digits$} s of {total} s", digits = total.len());
    let margin = (size * 0.5).round();
    let width = (PLAIN.width(&time, size) + 2.0 * margin) as u32;
    let height = (size + margin) as u32;
    if width > picture.width() || TOP + 2 * height > picture.height() {
        return;
    }
    for y in TOP..TOP + height {
        for x in 0..width {
            picture.put_pixel(x, y, GROUND);
        }
    }
    let baseline = TOP as f32 + (margin * 0.5 + PLAIN.ascent(size)).round();
    PLAIN.ink(&time, size, (margin, baseline), &mut |x, y, share| {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
        if let Some(pixel) = picture.get_pixel_mut_checked(x, y) {
            *pixel = mix(GROUND, INK, share);
        }
    });
}

fn mix(a: Rgba<u8>, b: Rgba<u8>, share: f32) -> Rgba<u8> {
    let part =
        |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * share.clamp(0.0, 1.0)) as u8;
    Rgba([part(a[0], b[0]), part(a[1], b[1]), part(a[2], b[2]), 0xff])
}
