//! Draws shapes.

use zeno::{Cap, Fill, Join, Mask, Stroke, Style, Transform};

use super::{
    canvas::{Canvas, Colour, WHITE, mix, rgb},
    scene::Subject,
    shapes::{Layer, Shape, Tone, Zone},
};
use crate::media::text::PROSE;

/// Light falls from above: how much lighter the top of a shape is than its foot.
const FALL: f32 = 0.16;

/// The light on a shape.
#[derive(Clone, Copy)]
pub(super) struct Light {
    pub(super) ambient: Colour,
    /// Whether lamps and windows are lit.
    pub(super) has_lamps: bool,
    /// The colour of the air in front of it, and how much of it.
    pub(super) haze: (Colour, f32),
}

impl Light {
    /// By day, and without haze.
    pub(super) const PLAIN: Self = Self { ambient: WHITE, has_lamps: false, haze: (WHITE, 0.0) };
}

/// A shape in a picture.
pub(super) struct Silhouette<'a> {
    pub(super) shape: &'a Shape,
    pub(super) colour: Colour,
    /// The middle of its lower edge.
    pub(super) at: (f32, f32),
    pub(super) tall: f32,
    pub(super) is_flipped: bool,
    pub(super) light: Light,
}

impl Silhouette<'_> {
    /// Paints the shape. Returns the centres of its lit lamps, and how far they shine.
    pub(super) fn paint(&self, canvas: &mut Canvas) -> Vec<((f32, f32), f32)> {
        let mut lamps = Vec::new();
        let top = self.at.1 - self.tall;
        for layer in &self.shape.drawing().layers {
            let colour = self.colour_of(layer.tone);
            let is_lit = matches!(layer.tone, Tone::Lamp) && self.light.has_lamps;
            let place = self.each_pixel(layer, 1.0, |x, y, share| {
                let down = ((y as f32 - top) / self.tall).clamp(0.0, 1.0);
                let shade = if is_lit { 1.0 } else { 1.0 + FALL * (0.4 - down) };
                canvas.blend(x, y, colour.map(|part| part * shade), share);
            });
            if is_lit {
                let (width, height) = (place.width as f32, place.height as f32);
                let centre = (place.left as f32 + width / 2.0, place.top as f32 + height / 2.0);
                lamps.push((centre, width.max(height) * 0.8 + self.tall * 0.1));
            }
        }
        lamps
    }

    /// Where a point of the box is in the picture.
    fn place(&self, (x, y): (f32, f32)) -> (f32, f32) {
        let scale = self.tall / 100.0;
        let across = (x - self.shape.wide() / 2.0) * if self.is_flipped { -scale } else { scale };
        (self.at.0 + across, self.at.1 + (y - 100.0) * scale)
    }

    /// Something on the seat of this, `aside` of its middle from -0.5 to 0.5.
    pub(super) fn loaded(&self, subject: &Subject, aside: f32) -> Self {
        let points = &self.shape.points;
        let (x, y) = self.place(points.seat.unwrap_or((self.shape.wide() / 2.0, 0.0)));
        let shape = subject.shape;
        let size = (shape.height / self.shape.height).clamp(0.3, 1.8);
        // Riders are taller than they look, because their legs are beside the saddle.
        let (size, low) = match shape.zone {
            _ if !points.is_saddle => (size * 0.72, 0.0),
            Zone::Half => (size * 0.66, 0.04),
            _ => (size * 0.8, 0.16),
        };
        let tall = self.tall * size;
        let across = aside * self.shape.wide() * self.tall / 100.0 * 0.66;
        let at = (x + across, y + tall * low);
        Self { shape, colour: subject.colour, at, tall, ..*self }
    }

    /// Something that is worn on the head.
    pub(super) fn dressed(
        &self,
        subject: &Subject,
        (x, y, half): (f32, f32, f32),
        (up, wide): (f32, f32),
    ) -> Self {
        let shape = subject.shape;
        let tall = half * wide / shape.wide() * self.tall;
        let (x, y) = self.place((x, y - up * half));
        // Glasses are at the height of the eyes.
        let y = if up == 0.0 { y + tall / 2.0 } else { y };
        Self { shape, colour: subject.colour, at: (x, y), tall, is_flipped: false, ..*self }
    }

    /// Writes a text on the label, if there is one.
    pub(super) fn write(&self, canvas: &mut Canvas, text: &str) {
        const LINES: usize = 3;
        let Some([left, top, right, bottom]) = self.shape.drawing().label else { return };
        let ((left, top), (right, bottom)) = (self.place((left, top)), self.place((right, bottom)));
        let (wide, tall) = ((right - left) * 0.9, bottom - top);
        let sizes = (4..=12).rev().map(|part| tall * part as f32 / 24.0);
        let fits = |size: &f32| {
            let lines = PROSE.wrap(text, *size, wide, LINES);
            // Neither elided nor broken within words.
            lines.join(" ") == text && lines.len() as f32 * size * 1.15 < tall
        };
        let size = sizes.clone().find(fits).unwrap_or(tall / 6.0);
        let lines = PROSE.wrap(text, size, wide, LINES);
        let mut baseline = (top + bottom) / 2.0 - lines.len() as f32 * size * 0.575 + size * 0.85;
        for line in lines {
            let x = (left + right) / 2.0 - PROSE.width(&line, size) / 2.0;
            canvas.write(&PROSE, &line, size, (x, baseline), rgb(0x2a2420));
            baseline += size * 1.15;
        }
    }

    /// Paints the mirror image below the lower edge, fading out, on pixels that are water.
    pub(super) fn reflect(
        &self,
        canvas: &mut Canvas,
        share: f32,
        is_water: impl Fn(i64, i64) -> bool,
    ) {
        for layer in &self.shape.drawing().layers {
            let colour = self.colour_of(layer.tone);
            self.each_pixel(layer, -1.0, |x, y, covered| {
                let down = (y as f32 - self.at.1) / self.tall;
                let sway = (y as f32 * 0.7).sin() * self.tall * 0.012 * (0.3 + down);
                let x = x + sway as i64;
                if down >= 0.0 && is_water(x, y) {
                    canvas.blend(x, y, colour, share * (1.0 - down).max(0.0) * covered);
                }
            });
        }
    }

    /// Calls `paint` with each pixel that a layer covers, and how much; `up` is -1 for the mirror
    /// image. Returns where they are.
    fn each_pixel(
        &self,
        layer: &Layer,
        up: f32,
        mut paint: impl FnMut(i64, i64, f32),
    ) -> zeno::Placement {
        let scale = self.tall / 100.0;
        let across = if self.is_flipped { -scale } else { scale };
        let transform = Transform::translation(-self.shape.wide() / 2.0, -100.0)
            .then_scale(across, scale * up)
            .then_translate(self.at.0, self.at.1);
        let mut mask = Mask::new(&layer.path);
        mask.transform(Some(transform));
        match layer.line {
            None => mask.style(Fill::NonZero),
            Some(width) => {
                let mut stroke = Stroke::new(width);
                stroke.cap(Cap::Round).join(Join::Round);
                mask.style(Style::Stroke(stroke))
            }
        };
        let (mask, place) = mask.render();
        let rows = mask.chunks(place.width.max(1) as usize).zip(i64::from(place.top)..);
        for (row, y) in rows {
            for (covered, x) in row.iter().zip(i64::from(place.left)..) {
                if *covered > 0 {
                    paint(x, y, layer.share * f32::from(*covered) / 255.0);
                }
            }
        }
        place
    }

    fn colour_of(&self, tone: Tone) -> Colour {
        if matches!(tone, Tone::Lamp) && self.light.has_lamps {
            return rgb(0xffd98c);
        }
        let colour = tone.of(self.colour, self.shape.drawing().colour);
        let lit: Colour = std::array::from_fn(|part| colour[part] * self.light.ambient[part]);
        mix(lit, self.light.haze.0, self.light.haze.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::paint::reader::read;

    fn silhouette(name: &str) -> Silhouette<'static> {
        let shape = Shape::named(name).unwrap();
        let colour = shape.drawing().colour;
        Silhouette {
            shape,
            colour,
            at: (50.0, 50.0),
            tall: 40.0,
            is_flipped: false,
            light: Light::PLAIN,
        }
    }

    #[test]
    fn a_reflection_stops_at_the_bank() {
        let mut canvas = Canvas::new(100, 100);
        silhouette("boat").reflect(&mut canvas, 1.0, |_, y| y < 60);
        let is_painted = |y: usize| canvas.row(y).iter().any(|pixel| *pixel != [0.0; 3]);
        assert!((50..60).all(is_painted) && !(60..100).any(is_painted));
    }

    #[test]
    fn hats_are_above_the_eyes_and_riders_above_the_saddle() {
        let scene = read("a cat with a hat");
        let (cat, [_, hat]) = (silhouette("cat"), scene.subjects.as_slice()) else {
            panic!("both are shown")
        };
        let head = cat.shape.points.head.unwrap();
        let hat = cat.dressed(hat, head, hat.shape.points.worn.unwrap());
        let (eyes, top) = (cat.place((head.0, head.1)).1, cat.at.1 - cat.tall);
        assert!(hat.at.1 < eyes && hat.at.1 > top - 1.0, "{} is not on the head", hat.at.1);
        let scene = read("a cat riding a horse");
        let (horse, cat) = (silhouette("horse"), scene.subjects.first().unwrap());
        let cat = horse.loaded(cat, 0.0);
        let back = horse.at.1 - horse.tall * 0.6;
        assert!((cat.at.1 - back).abs() < horse.tall * 0.2 && cat.tall < horse.tall);
    }
}
