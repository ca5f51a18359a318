//! The images of a request, shown as framed cards.

use super::{
    canvas::{Area, Canvas, rgb},
    fit,
};
use crate::{
    images::{Image, Input},
    text::{PLAIN, PROSE},
};

/// The minimum side of a card, in pixels.
const MIN_SIDE: f32 = 4.0;

/// Paints the images into `area`, as large as possible.
pub(super) fn paint(canvas: &mut Canvas, inputs: &[&Input], area: Area) {
    for (input, area) in inputs.iter().zip(cells(inputs.len(), area)) {
        card(canvas, input, area);
    }
}

/// Squares for this many images in rows and columns, as large as possible; none if they would be
/// too small.
pub(super) fn cells(count: usize, area: Area) -> Vec<Area> {
    let (width, height) = (area.width as f32, area.height as f32);
    let gap = (width.min(height) * 0.03).max(1.0);
    let side_with = |columns: usize| {
        let rows = count.div_ceil(columns);
        ((width - gap * (columns - 1) as f32) / columns as f32)
            .min((height - gap * (rows - 1) as f32) / rows as f32)
            .floor()
    };
    let sides = (1..=count).map(|columns| (side_with(columns), columns));
    let largest = sides.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(side, _)| *side >= MIN_SIDE);
    let Some((side, columns)) = largest else { return Vec::new() };
    let span = |cells: usize| cells as f32 * (side + gap) - gap;
    let top = area.y as f32 + (height - span(count.div_ceil(columns))) / 2.0;
    let cell = |index: usize| {
        let (row, column) = (index / columns, index % columns);
        let in_row = columns.min(count - row * columns);
        let left = area.x as f32 + (width - span(in_row)) / 2.0;
        let x = (left + column as f32 * (side + gap)) as i64;
        let y = (top + row as f32 * (side + gap)) as i64;
        Area { x, y, width: side as i64, height: side as i64 }
    };
    (0..count).map(cell).collect()
}

/// Paints a white card with the image, and the name of its field below.
fn card(canvas: &mut Canvas, input: &Input, area: Area) {
    let side = area.width;
    let frame = (side / 24).max(1);
    let label = if side >= 72 { (side as f32 * 0.085).clamp(9.0, 20.0) } else { 0.0 };
    let foot = (label * 1.5) as i64;
    for (spread, share) in [(3, 0.10), (2, 0.12), (1, 0.16)] {
        let around = area.inset(-spread);
        canvas.blend_rectangle(Area { y: around.y + 2, ..around }, rgb(0x000000), share);
    }
    canvas.blend_rectangle(area, rgb(0xfaf8f2), 1.0);
    let inner = area.inset(frame);
    let inner = Area { height: inner.height - foot, ..inner };
    if let Image::Elsewhere(host) = &input.image {
        placeholder(canvas, host, inner);
    } else if let (Some(size), Some(image)) = (inner.size(), input.decode()) {
        canvas.lay(&fit::contain(&image, size), inner);
    }
    if label > 0.0 {
        let text = PLAIN.elide(&input.place, label, inner.width as f32);
        let x = inner.x as f32 + (inner.width as f32 - PLAIN.width(&text, label)) / 2.0;
        let baseline = (area.y + side - frame) as f32 - label * 0.25;
        canvas.write(&PLAIN, &text, label, (x.round(), baseline.round()), rgb(0x3a3a44));
    }
}

fn placeholder(canvas: &mut Canvas, host: &str, area: Area) {
    canvas.blend_rectangle(area, rgb(0xe2e4ea), 1.0);
    let Area { x, y, width, height } = area;
    let size = (height as f32 * 0.1).clamp(9.0, 24.0);
    let room = width as f32 * 0.9;
    for (index, text) in ["an image at", host, "not fetched"].iter().enumerate() {
        let text = PROSE.elide(text, size, room);
        let x = x as f32 + (width as f32 - PROSE.width(&text, size)) / 2.0;
        let baseline = y as f32 + height as f32 / 2.0 + (index as f32 - 0.7) * size * 1.3;
        canvas.write(&PROSE, &text, size, (x.round(), baseline.round()), rgb(0x50545f));
    }
}
