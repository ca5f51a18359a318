//! Reads the subset of SVG that shapes are drawn in: paths, circles, ellipses and rectangles, each
//! with a fill or a stroke, on a box that is 100 units high.
//!
//! Browsers show a file in its own colours. In a picture, the elements of the classes `main`,
//! `shade`, `light` and `kin` take on the colour that the prompt names, and those of the class
//! `lamp` are lit at night.

use roxmltree::{Document, Node};
use zeno::{Command, PathBuilder as _, PathData as _};

use super::canvas::{Colour, WHITE, luma, mix, rgb};

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
    /// The width of a line; `None` fills the path.
    pub(super) line: Option<f32>,
    pub(super) share: f32,
    pub(super) path: Vec<Command>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tone {
    /// The main colour.
    Main,
    /// The main colour in shadow.
    Shade,
    /// The main colour in light.
    Light,
    /// A colour that changes with the main colour.
    Kin(u32),
    /// A colour of its own.
    Own(u32),
    /// A lamp, or a window: dark glass by day, and light by night.
    Lamp,
}

impl Tone {
    /// The colour in a shape whose main colour `own` was changed to `main`.
    pub(super) fn of(self, main: Colour, own: Colour) -> Colour {
        match self {
            Self::Main => main,
            Self::Shade => main.map(|part| part * 0.72),
            Self::Light => main.map(|part| part + (1.0 - part) * 0.32),
            Self::Kin(hex) if main != own => {
                let bright = luma(rgb(hex)) / luma(own).max(0.01);
                let dark = main.map(|part| part * bright.min(1.0));
                mix(dark, WHITE, ((bright - 1.0) * 0.6).min(0.6))
            }
            Self::Kin(hex) | Self::Own(hex) => rgb(hex),
            Self::Lamp => rgb(0x33465c),
        }
    }
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
        let colour = colour(stroke.or(node.attribute("fill")).unwrap_or_default())?;
        let tone = match node.attribute("class") {
            Some("main") => Tone::Main,
            Some("shade") => Tone::Shade,
            Some("light") => Tone::Light,
            Some("kin") => Tone::Kin(colour),
            Some("lamp") => Tone::Lamp,
            Some("label") | None => Tone::Own(colour),
            Some(class) => return Err(format!("unknown class {class}")),
        };
        if tone == Tone::Main && self.colour == Colour::default() {
            self.colour = rgb(colour);
        }
        let at = |name: &str| number(node, name).unwrap_or(0.0);
        if node.attribute("class") == Some("label") {
            let (left, top) = (at("x"), at("y"));
            self.label = Some([left, top, left + at("width"), top + at("height")]);
        }
        self.layers.push(Layer {
            tone,
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

fn colour(text: &str) -> Result<u32, String> {
    let hex = text.strip_prefix('#').filter(|hex| hex.len() == 6);
    let hex = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok());
    hex.ok_or(format!("unsupported colour {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
