//! Shapes: what stands, floats or flies in a painting.
//!
//! Each is an SVG file in `shapes/`, and has a row in `shapes/shapes.tsv`.

use std::{
    fmt,
    io::Read as _,
    sync::{LazyLock, OnceLock},
};

use flate2::read::GzDecoder;
use serde::Deserialize;

use super::{
    svg::Drawing,
    tables::{Sight, named, rows},
};

/// A line for each file: its name and its content.
static FILES: LazyLock<String> = LazyLock::new(|| {
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shapes.gz"));
    let mut files = String::new();
    // The build script has compressed them, so this cannot fail.
    let _ = GzDecoder::new(packed).read_to_string(&mut files);
    files
});

/// All shapes, in the order of the table.
pub(super) static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let files: Vec<_> = FILES.lines().filter_map(|line| line.split_once('\t')).collect();
    let shape = |row: [&'static str; 8]| {
        let [name, place, height, points, words @ ..] = row;
        let (_, svg) = files.iter().find(|(file, _)| *file == name)?;
        let (zone, home) = place.split_once(' ').unwrap_or((place, ""));
        Some(Shape {
            name,
            zone: named(zone)?,
            home: named(home),
            height: height.parse().ok()?,
            points: Points::read(points),
            words,
            svg,
            drawing: OnceLock::new(),
        })
    };
    rows(include_str!("../../../shapes/shapes.tsv")).filter_map(shape).collect()
});

/// The part of a painting that a shape belongs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Zone {
    /// On the ground in front.
    Land,
    /// On the ground, behind what is in front.
    Back,
    /// On the water.
    Water,
    /// In the sky.
    Air,
    /// In front of everything, cropped by the lower edge.
    Bust,
    /// The upper half of a person: alone like a bust, and with others on the ground.
    Half,
}

pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) zone: Zone,
    /// Where it is if the prompt does not say.
    pub(super) home: Option<Sight>,
    /// The height as a share of the picture's shorter side.
    pub(super) height: f32,
    pub(super) points: Points,
    /// Its words in each language.
    pub(super) words: [&'static str; 4],
    svg: &'static str,
    drawing: OnceLock<Drawing>,
}

/// Points of a shape that others are placed at, in units of its box.
#[derive(Clone, Copy, Default)]
pub(super) struct Points {
    /// The middle of a head between the eyes, and half its width.
    pub(super) head: Option<(f32, f32, f32)>,
    /// What something sits on.
    pub(super) seat: Option<(f32, f32)>,
    /// Whether what sits on it is behind it, with a leg on either side.
    pub(super) is_saddle: bool,
    /// How far above the eyes this is worn, in half widths of the head; and how wide it is.
    pub(super) worn: Option<(f32, f32)>,
    /// Whether it holds what is named after it: a bowl of soup.
    pub(super) is_holder: bool,
}

impl Points {
    fn read(text: &str) -> Self {
        let is_holder = text.split(' ').any(|point| point == "holder");
        let mut points = Self { is_holder, ..Self::default() };
        for (name, values) in text.split(' ').filter_map(|point| point.split_once('=')) {
            let values: Vec<f32> = values.split(',').flat_map(str::parse).collect();
            match (name, values.as_slice()) {
                ("head", &[x, y, half]) => points.head = Some((x, y, half)),
                ("seat", &[x, y]) => points.seat = Some((x, y)),
                ("saddle", &[x, y]) => (points.seat, points.is_saddle) = (Some((x, y)), true),
                ("worn", &[up, wide]) => points.worn = Some((up, wide)),
                _ => {}
            }
        }
        points
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Shape {
    /// The shape of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        SHAPES.iter().find(|shape| shape.name == name)
    }

    pub(super) fn drawing(&self) -> &Drawing {
        self.drawing.get_or_init(|| Drawing::read(self.svg).unwrap_or_default())
    }

    /// The width of the box, which is 100 units high.
    pub(super) fn wide(&self) -> f32 {
        self.drawing().wide
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_can_be_drawn_and_has_a_row() {
        for (name, svg) in FILES.lines().map(|line| line.split_once('\t').unwrap()) {
            let shape = Shape::named(name);
            assert!(shape.is_some(), "{name}.svg has no valid row in shapes.tsv");
            let drawing = Drawing::read(svg).map_err(|error| format!("{name}.svg: {error}"));
            let wide = drawing.unwrap().wide;
            assert!((20.0..300.0).contains(&wide), "{name}.svg: its width is {wide}");
        }
        let rows = rows::<8>(include_str!("../../../shapes/shapes.tsv")).count();
        assert_eq!(rows, FILES.lines().count(), "a row has no file, or two rows have the same");
    }
}
