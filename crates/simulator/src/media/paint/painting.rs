//! The painting of a picture: what its prompt describes, with the effects of its settings.

use super::{
    canvas::{Area, Canvas},
    caption, landscape, look,
    picture::Picture,
};

/// The painting, with room for a caption.
pub(super) fn of(picture: &Picture) -> Canvas {
    let mut canvas = Canvas::new(picture.size.0, picture.size.1);
    let floor = caption::floor(&canvas);
    paint(&mut canvas, picture, floor);
    canvas
}

/// A painting that shows everything in a part of the picture. The rest is black.
pub(super) fn within(picture: &Picture, area: Area) -> Canvas {
    let mut canvas = Canvas::new(picture.size.0, picture.size.1);
    let mut part = Canvas::new(area.width as u32, area.height as u32);
    paint(&mut part, picture, area.height as f32);
    canvas.lay(&part, area.x, area.y);
    canvas
}

fn paint(canvas: &mut Canvas, picture: &Picture, floor: f32) {
    landscape::paint(canvas, &picture.scene(), &picture.key(), floor);
    look::apply(canvas, &picture.settings);
}
