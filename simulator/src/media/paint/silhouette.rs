//! Draws shapes.

use zeno::{Cap, Fill, Join, Mask, Stroke, Style, Transform};

use super::{
    canvas::{Canvas, Colour, mix, rgb},
    shapes::Shape,
    svg::{Layer, Tone},
};

/// Light falls from above: how much lighter the top of a shape is than its foot.
const FALL: f32 = 0.16;

/// The light on a shape.
#[derive(Clone, Copy)]
pub(super) struct Light {
    pub(super) ambient: Colour,
    /// Whether lamps and windows are lit.
    pub(super) has_lamps: bool,
    /// The colour of the air in front of it, and how much of it.
    pub(super) haze: Option<(Colour, f32)>,
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
        for layer in &self.shape.drawing().layers {
            let (mask, place) = self.mask(layer, 1.0);
            let colour = self.colour_of(layer.tone);
            let is_lit = matches!(layer.tone, Tone::Lamp) && self.light.has_lamps;
            if is_lit {
                let (width, height) = (place.width as f32, place.height as f32);
                let centre = (place.left as f32 + width / 2.0, place.top as f32 + height / 2.0);
                lamps.push((centre, width.max(height) * 0.8 + self.tall * 0.1));
            }
            let top = self.at.1 - self.tall;
            let rows = mask.chunks(place.width.max(1) as usize).zip(i64::from(place.top)..);
            for (row, y) in rows {
                let down = ((y as f32 - top) / self.tall).clamp(0.0, 1.0);
                let shade = if is_lit { 1.0 } else { 1.0 + FALL * (0.4 - down) };
                let colour = colour.map(|part| part * shade);
                for (covered, x) in row.iter().zip(i64::from(place.left)..) {
                    if *covered > 0 {
                        canvas.blend(x, y, colour, layer.share * f32::from(*covered) / 255.0);
                    }
                }
            }
        }
        lamps
    }

    /// Paints the mirror image below the lower edge, fading out.
    pub(super) fn reflect(&self, canvas: &mut Canvas, share: f32) {
        for layer in &self.shape.drawing().layers {
            let (mask, place) = self.mask(layer, -1.0);
            let colour = self.colour_of(layer.tone);
            let rows = mask.chunks(place.width.max(1) as usize).zip(i64::from(place.top)..);
            for (row, y) in rows {
                let down = (y as f32 - self.at.1) / self.tall;
                if down < 0.0 {
                    continue;
                }
                let share = share * (1.0 - down).max(0.0);
                let sway = (y as f32 * 0.7).sin() * self.tall * 0.012 * (0.3 + down);
                for (covered, x) in row.iter().zip(i64::from(place.left) + sway as i64..) {
                    if *covered > 0 {
                        canvas.blend(
                            x,
                            y,
                            colour,
                            share * layer.share * f32::from(*covered) / 255.0,
                        );
                    }
                }
            }
        }
    }

    /// The pixels that a layer covers; `up` is -1 for the mirror image.
    fn mask(&self, layer: &Layer, up: f32) -> (Vec<u8>, zeno::Placement) {
        let scale = self.tall / 100.0;
        let across = if self.is_flipped { -scale } else { scale };
        let transform = Transform::translation(-self.shape.wide() / 2.0, -100.0)
            .then_scale(across, scale * up)
            .then_translate(self.at.0, self.at.1);
        let transform = layer.transform.map_or(transform, |own| own.then(&transform));
        let mut mask = Mask::new(layer.path.as_str());
        mask.transform(Some(transform));
        match layer.line {
            None if layer.is_even_odd => mask.style(Fill::EvenOdd),
            None => mask.style(Fill::NonZero),
            Some(width) => {
                let mut stroke = Stroke::new(width);
                stroke.cap(Cap::Round).join(Join::Round);
                mask.style(Style::Stroke(stroke))
            }
        };
        mask.render()
    }

    fn colour_of(&self, tone: Tone) -> Colour {
        if matches!(tone, Tone::Lamp) && self.light.has_lamps {
            return rgb(0xffd98c);
        }
        let colour = tone.of(self.colour, self.shape.drawing().colour);
        let lit: Colour = std::array::from_fn(|part| colour[part] * self.light.ambient[part]);
        self.light.haze.map_or(lit, |(haze, share)| mix(lit, haze, share))
    }
}
