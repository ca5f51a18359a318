//! Shapes: what stands, floats or flies in a painting.
//!
//! Each is an SVG file in `shapes/`, and has a row in `shapes/shapes.tsv`. The files use a subset
//! of SVG: paths, circles, ellipses and rectangles, each with a fill or a stroke, on a box that is
//! 100 units high.
//!
//! Browsers show a file in its own colours. In a picture, the elements of the classes `main`,
//! `shade`, `light` and `kin` take on the colour that the prompt names, and those of the class
//! `lamp` are lit at night.

use std::{
    io,
    sync::{LazyLock, OnceLock},
};

use flate2::read::GzDecoder;
use roxmltree::{Document, Node};
use serde::Deserialize;
use zeno::{Command, PathBuilder as _, PathData as _};

use super::{
    canvas::{Colour, rgb},
    tables::{Sight, named, rows},
};

/// A line for each file: its name and its content.
static FILES: LazyLock<String> = LazyLock::new(|| {
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shapes.gz"));
    // The build script has compressed them, so this cannot fail.
    io::read_to_string(GzDecoder::new(packed)).unwrap_or_default()
});

/// All shapes, in the order of the table.
pub(super) static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let files: Vec<_> = FILES.lines().filter_map(|line| line.split_once('\t')).collect();
    let shape = |[name, place, height, points, words @ ..]: [&'static str; 8]| {
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
    rows(include_str!("../../shapes/shapes.tsv")).filter_map(shape).collect()
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
    /// The edge of an opening, out of which looks what is in it.
    pub(super) rim: Option<(f32, f32)>,
    /// The middle of what is in it, if that is not its own middle.
    pub(super) hollow: Option<(f32, f32)>,
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
                ("rim", &[x, y]) => points.rim = Some((x, y)),
                ("hollow", &[x, y]) => points.hollow = Some((x, y)),
                ("saddle", &[x, y]) => (points.seat, points.is_saddle) = (Some((x, y)), true),
                ("worn", &[up, wide]) => points.worn = Some((up, wide)),
                _ => {}
            }
        }
        points
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

    /// The middle of its head between the eyes, and half the width of it.
    pub(super) fn head(&self) -> (f32, f32, f32) {
        self.points.head.unwrap_or((self.wide() * 0.5, 24.0, self.wide() * 0.24))
    }

    /// The width of the box, which is 100 units high.
    pub(super) fn wide(&self) -> f32 {
        self.drawing().wide
    }
}

#[derive(Default)]
pub(super) struct Drawing {
    /// The width of the box, which is 100 units high.
    pub(super) wide: f32,
    /// The main colour, unless the prompt names another.
    pub(super) colour: Colour,
    /// From back to front.
    pub(super) layers: Vec<Layer>,
    /// The left, upper, right and lower edge of the area for a text, the rectangle of class
    /// `label`.
    pub(super) label: Option<[f32; 4]>,
}

pub(super) struct Layer {
    pub(super) tone: Tone,
    pub(super) colour: Colour,
    /// The width of a line; `None` fills the path.
    pub(super) line: Option<f32>,
    pub(super) share: f32,
    pub(super) path: Vec<Command>,
}

/// The class of an element.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tone {
    /// The main colour.
    Main,
    /// The main colour in shadow.
    Shade,
    /// The main colour in light.
    Light,
    /// A colour that changes with the main colour.
    Kin,
    /// A lamp, or a window: dark glass by day, and light by night.
    Lamp,
    /// A colour of its own, and a text over it.
    Label,
    /// A colour of its own: an element without a class.
    Own,
}

impl Drawing {
    pub(super) fn read(svg: &str) -> Result<Self, String> {
        let document = Document::parse(svg).map_err(|error| error.to_string())?;
        let root = document.root_element();
        let view = root.attribute("viewBox").unwrap_or_default();
        let wide = view.strip_prefix("0 0 ").and_then(|size| size.strip_suffix(" 100"));
        let wide = wide.and_then(|wide| wide.parse().ok());
        let wide = wide.ok_or(format!("the viewBox {view} is not 0 0 and a width and 100"))?;
        let mut drawing = Self { wide, ..Self::default() };
        for node in root.children().filter(|node| node.is_element() && !node.has_tag_name("title"))
        {
            drawing.add(node)?;
        }
        Ok(drawing)
    }

    fn add(&mut self, node: Node) -> Result<(), String> {
        let stroke = node.attribute("stroke");
        let colour = rgb(colour(stroke.or(node.attribute("fill")).unwrap_or_default())?);
        let class = node.attribute("class").unwrap_or("own");
        let tone = named(class).ok_or(format!("unknown class {class}"))?;
        if tone == Tone::Main && self.colour == Colour::default() {
            self.colour = colour;
        }
        let at = |name: &str| number(node, name).unwrap_or(0.0);
        if tone == Tone::Label {
            let (left, top) = (at("x"), at("y"));
            self.label = Some([left, top, left + at("width"), top + at("height")]);
        }
        self.layers.push(Layer {
            tone,
            colour,
            line: stroke.map(|_| number(node, "stroke-width").unwrap_or(1.0)),
            share: number(node, "opacity").unwrap_or(1.0),
            path: path(node)?,
        });
        Ok(())
    }
}

fn path(node: Node) -> Result<Vec<Command>, String> {
    let at = |name: &str| number(node, name).unwrap_or(0.0);
    let (width, height, round) = (at("width"), at("height"), at("rx"));
    let mut path = Vec::new();
    match node.tag_name().name() {
        "path" => {
            let path = node.attribute("d").unwrap_or_default();
            zeno::validate_svg(path).map_err(|at| format!("the path is wrong at {at}: {path}"))?;
            return Ok(path.commands().collect());
        }
        "circle" => path.add_circle((at("cx"), at("cy")), at("r")),
        "ellipse" => path.add_ellipse((at("cx"), at("cy")), at("rx"), at("ry")),
        "rect" if round == 0.0 => path.add_rect((at("x"), at("y")), width, height),
        "rect" => path.add_round_rect((at("x"), at("y")), width, height, round, round),
        other => return Err(format!("unsupported element {other}")),
    };
    Ok(path)
}

fn number(node: Node, name: &str) -> Option<f32> {
    node.attribute(name)?.parse().ok()
}

/// A colour such as `#c8552b`.
pub(super) fn colour(text: &str) -> Result<u32, String> {
    let hex = text.strip_prefix('#').filter(|hex| hex.len() == 6);
    let hex = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok());
    hex.ok_or(format!("unsupported colour {text}"))
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
        let rows = rows::<8>(include_str!("../../shapes/shapes.tsv")).count();
        assert_eq!(rows, FILES.lines().count(), "a row has no file, or two rows have the same");
    }

    #[test]
    fn what_is_not_supported_is_an_error() {
        let read = |content: &str| {
            let drawing = Drawing::read(&format!("<svg viewBox='0 0 50 100'>{content}</svg>"));
            drawing.map(|drawing| drawing.layers.len())
        };
        assert_eq!(read("<title/><path fill='#112233' d='M1 2C1 1 2 2 3 3Z'/>"), Ok(1));
        for wrong in [
            "<text fill='#112233'/>",
            "<g fill='#112233'><circle r='1'/></g>",
            "<path fill='#112233' d='M1 2R3'/>",
            "<path fill='red' d='M1 2'/>",
            "<circle class='huge' fill='#112233' r='1'/>",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for wrong in ["<svg/>", "<svg viewBox='0 0 9 9'/>", "<svg"] {
            assert!(Drawing::read(wrong).is_err(), "{wrong}");
        }
    }
}
