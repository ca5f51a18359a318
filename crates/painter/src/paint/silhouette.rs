//! Draws shapes.

use zeno::{Cap, Join, Mask, Placement, Stroke, Transform};

use super::{
    canvas::{Canvas, Colour, Point, WHITE, lit, luma, mix, rgb},
    scene::{Place, Subject},
    shapes::{Layer, Shape, Tone, Zone},
};
use crate::text::PROSE;

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
    pub(super) at: Point,
    pub(super) tall: f32,
    pub(super) is_flipped: bool,
    pub(super) light: Light,
    /// What is below is hidden, by the edge of what it is in.
    pub(super) rim: f32,
}

impl<'a> Silhouette<'a> {
    /// By day, and with nothing around it.
    pub(super) fn new(shape: &'a Shape, colour: Colour, at: Point, tall: f32) -> Self {
        Self { shape, colour, at, tall, is_flipped: false, light: Light::PLAIN, rim: f32::MAX }
    }

    /// Paints the shape. Returns the centres of its lit lamps, and how far they shine.
    pub(super) fn paint(&self, canvas: &mut Canvas) -> Vec<(Point, f32)> {
        let mut lamps = Vec::new();
        let top = self.at.1 - self.tall;
        for layer in &self.shape.drawing().layers {
            let colour = self.colour_of(layer);
            let is_lit = matches!(layer.tone, Tone::Lamp) && self.light.has_lamps;
            let place = self.each_pixel(layer, 1.0, |x, y, share| {
                let share = if y as f32 <= self.rim { share } else { 0.0 };
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
    fn place(&self, (x, y): Point) -> Point {
        let scale = self.tall / 100.0;
        let across = (x - self.shape.wide() / 2.0) * if self.is_flipped { -scale } else { scale };
        (self.at.0 + across, self.at.1 + (y - 100.0) * scale)
    }

    /// Something that this carries, `aside` of its middle from -0.5 to 0.5.
    pub(super) fn loaded(&self, subject: &Subject, aside: f32) -> Self {
        let (shape, points, wide) = (subject.shape, &self.shape.points, self.shape.wide());
        let size = shape.height / self.shape.height;
        let across = match subject.place {
            Place::Held | Place::Worn => 0.0,
            _ => aside * wide * self.tall / 100.0 * 0.66,
        };
        let (mut rim, mut is_flipped) = (self.rim, self.is_flipped);
        let (tall, x, y) = match (subject.place, points.seat, points.rim) {
            (Place::On, Some(seat), _) => {
                // Riders are taller than they look, because their legs are beside the saddle.
                let (share, low) = match shape.zone {
                    _ if !points.is_saddle => (0.72, 0.0),
                    Zone::Half => (0.66, 0.04),
                    _ => (0.8, 0.16),
                };
                let tall = self.tall * (size.clamp(0.3, 1.8) * share);
                let (x, y) = self.place(seat);
                (tall, x, y + tall * low)
            }
            (Place::In, _, Some(opening)) => {
                let tall = self.tall * size.clamp(0.4, 1.0);
                let (x, y) = self.place(opening);
                rim = y;
                (tall, x, y + tall * 0.3)
            }
            (Place::In, _, None) => {
                let tall = self.tall * (0.6 * wide / shape.wide()).min(0.45);
                let (x, y) = self.place(points.hollow.unwrap_or((wide / 2.0, 50.0)));
                (tall, x, y + tall / 2.0)
            }
            (Place::Held, ..) => {
                let tall = self.tall * (size.clamp(0.5, 1.0) * 0.8);
                let is_whole = !matches!(self.shape.zone, Zone::Bust | Zone::Half);
                let (low, shift) = if is_whole { (0.4, 3.5) } else { (0.2, 7.0) };
                let low = self.at.1 - self.tall * low;
                let is_near = |(_, y): &Point| (y - low).abs() < self.tall * 0.04;
                let hand = self.pixels().into_iter().filter(is_near).map(|(x, _)| x);
                let aside = tall * shape.wide() / 100.0 / shift;
                (tall, hand.fold(self.at.0, f32::max) + aside, low + tall * 0.3)
            }
            (Place::Worn, ..) => {
                let (x, y, half) = self.shape.head();
                let (up, wide) = shape.points.worn.unwrap_or_default();
                let tall = self.tall * (half * wide / shape.wide());
                is_flipped = false;
                let (x, y) = self.place((x, y - up * half));
                // Glasses are at the height of the eyes.
                (tall, x, if up == 0.0 { y + tall / 2.0 } else { y })
            }
            _ => {
                let tall = self.tall * (size.clamp(0.3, 1.8) * 0.72);
                let x = self.at.0 + across;
                let is_near = |(at, _): &Point| (at - x).abs() < self.tall * 0.05;
                let top = self.pixels().into_iter().filter(is_near).map(|(_, y)| y);
                (tall, self.at.0, top.fold(self.at.1, f32::min) + tall * 0.03)
            }
        };
        let (colour, at) = (subject.colour, (x + across, y));
        Self { shape, colour, at, tall, rim, is_flipped, light: self.light }
    }

    /// The pixels that the shape covers.
    fn pixels(&self) -> Vec<Point> {
        let mut pixels = Vec::new();
        for layer in &self.shape.drawing().layers {
            self.each_pixel(layer, 1.0, |x, y, share| {
                if share > 0.5 {
                    pixels.push((x as f32, y as f32));
                }
            });
        }
        pixels
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
    pub(super) fn reflect(&self, canvas: &mut Canvas, is_water: impl Fn(i64, i64) -> bool) {
        for layer in &self.shape.drawing().layers {
            let colour = self.colour_of(layer);
            self.each_pixel(layer, -1.0, |x, y, covered| {
                let down = (y as f32 - self.at.1) / self.tall;
                let sway = (y as f32 * 0.7).sin() * self.tall * 0.012 * (0.3 + down);
                let x = x + sway as i64;
                if down >= 0.0 && is_water(x, y) {
                    canvas.blend(x, y, colour, 0.3 * (1.0 - down).max(0.0) * covered);
                }
            });
        }
    }

    /// Calls `dot` with each pixel that a layer covers, and how much; `up` is -1 for the mirror
    /// image. Returns where they are.
    fn each_pixel(&self, layer: &Layer, up: f32, mut dot: impl FnMut(i64, i64, f32)) -> Placement {
        let scale = self.tall / 100.0;
        let across = if self.is_flipped { -scale } else { scale };
        let transform = Transform::translation(-self.shape.wide() / 2.0, -100.0)
            .then_scale(across, scale * up)
            .then_translate(self.at.0, self.at.1);
        let mut mask = Mask::new(&layer.path);
        mask.transform(Some(transform));
        if let Some(width) = layer.line {
            let mut stroke = Stroke::new(width);
            stroke.cap(Cap::Round).join(Join::Round);
            mask.style(stroke);
        }
        let (mask, place) = mask.render();
        let rows = mask.chunks(place.width.max(1) as usize).zip(i64::from(place.top)..);
        for (row, y) in rows {
            for (covered, x) in row.iter().zip(i64::from(place.left)..) {
                if *covered > 0 {
                    dot(x, y, layer.share * f32::from(*covered) / 255.0);
                }
            }
        }
        place
    }

    fn colour_of(&self, layer: &Layer) -> Colour {
        let (main, own) = (self.colour, self.shape.drawing().colour);
        let colour = match layer.tone {
            Tone::Lamp if self.light.has_lamps => return rgb(0xffd98c),
            Tone::Lamp => rgb(0x33465c),
            Tone::Main => main,
            Tone::Shade => main.map(|part| part * 0.72),
            Tone::Light => main.map(|part| part + (1.0 - part) * 0.32),
            Tone::Kin if main != own => {
                let bright = luma(layer.colour) / luma(own).max(0.01);
                let dark = main.map(|part| part * bright.min(1.0));
                mix(dark, WHITE, ((bright - 1.0) * 0.6).min(0.6))
            }
            Tone::Kin | Tone::Label | Tone::Own => layer.colour,
        };
        mix(lit(colour, self.light.ambient), self.light.haze.0, self.light.haze.1)
    }
}

/// Paints a shape that no word names, by day, with the middle of its foot at `at`.
pub(super) fn shape(canvas: &mut Canvas, name: &str, colour: Colour, at: Point, tall: f32) {
    if let Some(shape) = Shape::named(name) {
        Silhouette::new(shape, colour, at, tall).paint(canvas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::reader::read;

    fn silhouette(name: &str) -> Silhouette<'static> {
        let shape = Shape::named(name).unwrap();
        Silhouette::new(shape, shape.drawing().colour, (50.0, 50.0), 40.0)
    }

    #[test]
    fn a_reflection_stops_at_the_bank() {
        let mut canvas = Canvas::new((100, 100));
        silhouette("boat").reflect(&mut canvas, |_, y| y < 60);
        let is_painted = |y: usize| canvas.row(y).iter().any(|pixel| *pixel != [0.0; 3]);
        assert!((50..60).all(is_painted) && !(60..100).any(is_painted));
    }

    #[test]
    fn things_are_where_the_prompt_says() {
        let on = |prompt: &str, carrier: &str| {
            let scene = read(prompt);
            let carrier = silhouette(carrier);
            let load = scene.subjects.iter().find(|shown| shown.carrier.is_some());
            (carrier.loaded(load.unwrap(), 0.0), carrier)
        };
        let (hat, cat) = on("a cat with a hat", "cat");
        let (eyes, top) = (cat.place((0.0, cat.shape.head().1)).1, cat.at.1 - cat.tall);
        assert!(hat.at.1 < eyes && hat.at.1 > top - 1.0, "{} is not on the head", hat.at.1);
        let (cat, horse) = on("a cat riding a horse", "horse");
        let back = horse.at.1 - horse.tall * 0.6;
        assert!((cat.at.1 - back).abs() < horse.tall * 0.2 && cat.tall < horse.tall);
        let (cat, car) = on("a cat on a car", "car");
        let roof = car.pixels().iter().map(|(_, y)| *y).fold(f32::MAX, f32::min);
        assert!((cat.at.1 - roof).abs() < car.tall * 0.1, "{} is not on {roof}", cat.at.1);
        let (ship, bottle) = on("a ship in a bottle", "champagne");
        assert!(ship.at.1 < bottle.at.1 && ship.at.1 - ship.tall > bottle.at.1 - bottle.tall);
        let (rabbit, bucket) = on("a rabbit in a bucket", "bucket");
        assert!(rabbit.rim < rabbit.at.1 && rabbit.rim > bucket.at.1 - bucket.tall);
        let (rose, robot) = on("a robot holding a rose", "robot");
        assert!(rose.at.1 < robot.at.1 && rose.at.1 > robot.at.1 - robot.tall * 0.6);
    }
}
