//! The pixels of a picture, and what paints them: rectangles, text, light, ellipses, haze, and
//! areas below an edge.

use image::RgbaImage;

use crate::text::Face;

/// A colour, each channel from 0 to 1.
pub(super) type Colour = [f32; 3];

pub(super) const WHITE: Colour = [1.0; 3];

/// A position, from the left and from the top.
pub(super) type Point = (f32, f32);

/// A haze is computed for squares of this many pixels and interpolated in between.
const GRID: usize = 8;

/// The colour written `0xrrggbb`.
pub(super) const fn rgb(hex: u32) -> Colour {
    let [_, r, g, b] = hex.to_be_bytes();
    [r as f32 / 255.0, g as f32 / 255.0, b as f32 / 255.0]
}

/// A blend from `a` (at 0) to `b` (at 1).
pub(super) fn mix(a: Colour, b: Colour, share: f32) -> Colour {
    let share = share.clamp(0.0, 1.0);
    [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share]
}

/// A colour in coloured light.
pub(super) fn lit(colour: Colour, light: Colour) -> Colour {
    std::array::from_fn(|part| colour[part] * light[part])
}

/// The brightness of a colour, from 0 to 1.
pub(super) fn luma(colour: Colour) -> f32 {
    0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
}

impl Area {
    /// Its width and height, unless it is empty.
    pub(super) fn size(self) -> Option<(u32, u32)> {
        let size = (u32::try_from(self.width).ok()?, u32::try_from(self.height).ok()?);
        (size.0 > 0 && size.1 > 0).then_some(size)
    }

    /// The area without a frame this wide.
    pub(super) fn inset(self, by: i64) -> Self {
        let Self { x, y, width, height } = self;
        Self { x: x + by, y: y + by, width: width - 2 * by, height: height - 2 * by }
    }
}

#[derive(Clone)]
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    pixels: Vec<Colour>,
}

impl Canvas {
    pub(super) fn new(size: (u32, u32)) -> Self {
        let (width, height) = (size.0 as usize, size.1 as usize);
        Self { width, height, pixels: vec![[0.0; 3]; width * height] }
    }

    /// A canvas with this image on white.
    pub(super) fn of(image: &RgbaImage) -> Self {
        let over_white = |pixel: &image::Rgba<u8>| {
            let [r, g, b, a] = pixel.0.map(|part| f32::from(part) / 255.0);
            if a == 1.0 { [r, g, b] } else { mix(WHITE, [r, g, b], a) }
        };
        Self {
            width: image.width() as usize,
            height: image.height() as usize,
            pixels: image.pixels().map(over_white).collect(),
        }
    }

    /// The area of the complete canvas.
    pub(super) fn area(&self) -> Area {
        Area { x: 0, y: 0, width: self.width as i64, height: self.height as i64 }
    }

    /// Replaces every pixel, depending on its position and its old colour.
    pub(super) fn change(&mut self, new: impl Fn(usize, usize, Colour) -> Colour) {
        let width = self.width.max(1);
        for (y, row) in self.pixels.chunks_mut(width).enumerate() {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = new(x, y, *pixel);
            }
        }
    }

    /// The shorter side.
    pub(super) fn short(&self) -> f32 {
        self.width.min(self.height) as f32
    }

    pub(super) fn row(&self, y: usize) -> &[Colour] {
        let start = y.min(self.height) * self.width;
        self.pixels.get(start..start + self.width).unwrap_or_default()
    }

    pub(super) fn row_mut(&mut self, y: usize) -> &mut [Colour] {
        let start = y.min(self.height) * self.width;
        self.pixels.get_mut(start..start + self.width).unwrap_or_default()
    }

    /// The interpolated colour at a position from 0 to 1 across and down.
    pub(super) fn at(&self, x: f32, y: f32) -> Colour {
        let place = |at: f32, length: usize| {
            let last = length.saturating_sub(1);
            let at = (at * length as f32 - 0.5).clamp(0.0, last as f32);
            (at as usize, (at as usize + 1).min(last), at.fract())
        };
        let (left, right, across) = place(x, self.width);
        let (top, bottom, down) = place(y, self.height);
        let pixel = |x: usize, y: usize| self.row(y).get(x).copied().unwrap_or(WHITE);
        let upper = mix(pixel(left, top), pixel(right, top), across);
        mix(upper, mix(pixel(left, bottom), pixel(right, bottom), across), down)
    }

    /// Blends `colour` over a pixel. Does nothing outside the canvas.
    pub(super) fn blend(&mut self, x: i64, y: i64, colour: Colour, share: f32) {
        if let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y))
            && let Some(pixel) = self.row_mut(y).get_mut(x)
        {
            *pixel = mix(*pixel, colour, share);
        }
    }

    /// Blends `colour` over a part of a row, antialiased at both ends.
    pub(super) fn blend_span(&mut self, y: i64, from: f32, to: f32, colour: Colour, share: f32) {
        let Ok(y) = usize::try_from(y) else { return };
        // Casting clamps.
        let last = (to as usize).saturating_add(1).min(self.width);
        let first = (from as usize).min(last);
        let mut x = first as f32;
        for pixel in self.row_mut(y).get_mut(first..last).unwrap_or_default() {
            let covered = (to.min(x + 1.0) - from.max(x)).clamp(0.0, 1.0);
            *pixel = mix(*pixel, colour, share * covered);
            x += 1.0;
        }
    }

    pub(super) fn blend_rectangle(&mut self, area: Area, colour: Colour, share: f32) {
        let Area { x, y, width, height } = area;
        for row in y.max(0)..(y + height).min(self.height as i64) {
            self.blend_span(row, x as f32, (x + width) as f32, colour, share);
        }
    }

    /// Adds light around a point, which fades with the distance.
    pub(super) fn glow(&mut self, at: Point, reach: f32, colour: Colour, strength: f32) {
        let lower = ((at.1 + reach).max(0.0) as usize).min(self.height);
        for y in (at.1 - reach).max(0.0) as usize..lower {
            let dy = y as f32 + 0.5 - at.1;
            let half = (reach * reach - dy * dy).max(0.0).sqrt();
            let end = ((at.0 + half).max(0.0) as usize).min(self.width);
            let start = ((at.0 - half).max(0.0) as usize).min(end);
            let mut dx = start as f32 + 0.5 - at.0;
            for pixel in self.row_mut(y).get_mut(start..end).unwrap_or_default() {
                let near = (1.0 - (dx * dx + dy * dy) / (reach * reach)).max(0.0);
                *pixel = mix(*pixel, colour, near * near * near * strength);
                dx += 1.0;
            }
        }
    }

    /// Paints a disc.
    pub(super) fn disc(&mut self, at: Point, radius: f32, colour: Colour, share: f32) {
        self.oval(at, (radius, radius), colour, share);
    }

    /// Paints an ellipse.
    pub(super) fn oval(&mut self, at: Point, radii: Point, colour: Colour, share: f32) {
        let (across, down) = radii;
        for y in (at.1 - down).floor() as i64..=(at.1 + down).ceil() as i64 {
            let dy = (y as f32 + 0.5 - at.1) / down.max(0.01);
            let half = (1.0 - dy * dy).max(0.0).sqrt() * across;
            self.blend_span(y, at.0 - half, at.0 + half, colour, share);
        }
    }

    /// Paints from an edge down to `lower`. `colour` depends on the column and on the distance from
    /// the edge.
    pub(super) fn below(&mut self, top: &[f32], lower: f32, colour: impl Fn(usize, f32) -> Colour) {
        let bottom = (lower.ceil().max(0.0) as usize).min(self.height);
        let highest = top.iter().copied().fold(f32::MAX, f32::min).max(0.0) as usize;
        for y in highest..bottom {
            for (x, (pixel, top)) in self.row_mut(y).iter_mut().zip(top).enumerate() {
                let under = y as f32 + 1.0 - top;
                if under > 0.0 {
                    let colour = colour(x, under);
                    *pixel = if under < 1.0 { mix(*pixel, colour, under) } else { colour };
                }
            }
        }
    }

    /// Blends a colour over the upper rows, by its strength and by how thick it is at a point.
    pub(super) fn haze(&mut self, rows: usize, tone: (Colour, f32), thick: impl Fn(Point) -> f32) {
        let ((colour, strength), scale) = (tone, 3.2 / self.short());
        let columns = self.width / GRID + 2;
        let line = |row: usize| -> Vec<f32> {
            let at = |place: usize| (place * GRID) as f32 * scale;
            let node = |column| thick((at(column), at(row))).clamp(0.0, 1.0);
            (0..columns).map(node).collect()
        };
        let lines: Vec<_> = (0..rows / GRID + 2).map(line).collect();
        for y in 0..rows {
            let down = (y % GRID) as f32 / GRID as f32;
            let pairs = lines[y / GRID].iter().zip(&lines[y / GRID + 1]);
            let edge: Vec<f32> = pairs.map(|(a, b)| a + (b - a) * down).collect();
            for (pixels, pair) in self.row_mut(y).chunks_mut(GRID).zip(edge.windows(2)) {
                let (left, slope) =
                    (pair[0] * strength, (pair[1] - pair[0]) * strength / GRID as f32);
                if left == 0.0 && slope == 0.0 {
                    continue;
                }
                for (across, pixel) in pixels.iter_mut().enumerate() {
                    *pixel = mix(*pixel, colour, left + slope * across as f32);
                }
            }
        }
    }

    /// Writes a line of text that starts at `at`, on its baseline.
    pub(super) fn write(&mut self, face: &Face, text: &str, size: f32, at: Point, colour: Colour) {
        for (x, y, share) in face.ink(text, size, at) {
            self.blend(x, y, colour, share);
        }
    }

    /// Copies an image to the middle of an area.
    pub(super) fn lay(&mut self, image: &RgbaImage, area: Area) {
        let other = Self::of(image);
        let x = area.x + (area.width - other.width as i64) / 2;
        let y = area.y + (area.height - other.height as i64) / 2;
        for (row, at) in other.pixels.chunks(other.width.max(1)).zip(y..) {
            for (colour, at_x) in row.iter().zip(x..) {
                self.blend(at_x, at, *colour, 1.0);
            }
        }
    }

    /// The image, with an opaque alpha channel.
    pub(super) fn into_image(self) -> RgbaImage {
        // Casting clamps.
        let byte = |part: f32| (part * 255.0 + 0.5) as u8;
        let opaque = |[r, g, b]: &Colour| [byte(*r), byte(*g), byte(*b), 255];
        let bytes = self.pixels.iter().map(opaque).collect::<Vec<_>>().into_flattened();
        RgbaImage::from_raw(self.width as u32, self.height as u32, bytes).unwrap_or_default()
    }
}
