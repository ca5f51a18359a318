//! Reads the subset of SVG that shapes are drawn in: paths, circles, ellipses, rectangles, polygons
//! and groups, with fills, strokes, opacities and transforms.
//!
//! Browsers show a file in its own colours. In a picture, the elements of the classes `main`,
//! `shade` and `light` take on the colour that the prompt names, and those of the class `lamp` are
//! lit at night.

use roxmltree::{Document, Node};
use zeno::{Angle, Command, PathBuilder as _, PathData as _, Style, Transform};

use super::canvas::{Colour, WHITE, luma, mix, rgb};

/// Colours whose channels differ from those of the main colour by this factor are its kin.
const KIN: f32 = 0.2;

#[derive(Default)]
pub(super) struct Drawing {
    /// The width of the box, which is 100 units high.
    pub(super) wide: f32,
    /// The main colour, unless the prompt names another.
    pub(super) colour: Colour,
    /// From back to front.
    pub(super) layers: Vec<Layer>,
    /// The left, upper, right and lower edge of the area for a text, the element of class `label`.
    pub(super) label: Option<[f32; 4]>,
}

pub(super) struct Layer {
    pub(super) tone: Tone,
    /// The width of a line; `None` fills the path.
    pub(super) line: Option<f32>,
    pub(super) is_even_odd: bool,
    pub(super) share: f32,
    pub(super) path: Vec<Command>,
    /// Into the box.
    pub(super) transform: Option<Transform>,
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

/// What an element inherits from its groups.
#[derive(Clone, Copy)]
struct Inherited<'a> {
    fill: &'a str,
    share: f32,
    transform: Option<Transform>,
}

impl Drawing {
    pub(super) fn read(svg: &str) -> Result<Self, String> {
        let document = Document::parse(svg).map_err(|error| error.to_string())?;
        let root = document.root_element();
        let view = numbers(root.attribute("viewBox").unwrap_or_default());
        let &[0.0, 0.0, wide, high] = view.as_slice() else {
            return Err(format!("the viewBox {view:?} does not start at 0 0"));
        };
        let mut drawing = Self { wide, ..Self::default() };
        let inherited = Inherited { fill: "#000000", share: 1.0, transform: None };
        drawing.read_children(root, inherited)?;
        let has_classes = root.descendants().any(|node| node.attribute("class") == Some("main"));
        if !has_classes {
            drawing.find_main();
        }
        if high != 100.0 {
            drawing.crop();
        }
        Ok(drawing)
    }

    fn read_children(&mut self, parent: Node, inherited: Inherited) -> Result<(), String> {
        for node in parent.children().filter(Node::is_element) {
            let own = transform(node.attribute("transform").unwrap_or_default())?;
            let opacity = ["opacity", "fill-opacity"].into_iter().filter_map(|name| {
                node.attribute(name).map(|share| share.parse::<f32>().unwrap_or(1.0))
            });
            let inherited = Inherited {
                fill: node.attribute("fill").unwrap_or(inherited.fill),
                share: inherited.share * opacity.product::<f32>(),
                transform: match (own, inherited.transform) {
                    (Some(own), Some(outer)) => Some(own.then(&outer)),
                    (own, outer) => own.or(outer),
                },
            };
            match node.tag_name().name() {
                "title" => {}
                "g" => self.read_children(node, inherited)?,
                _ => self.add(node, path(node)?, inherited)?,
            }
        }
        Ok(())
    }

    /// Adds an element with its fill and its stroke.
    fn add(&mut self, node: Node, path: Vec<Command>, inherited: Inherited) -> Result<(), String> {
        let fill = Some(inherited.fill).filter(|fill| *fill != "none");
        let width = number(node, "stroke-width").unwrap_or(1.0);
        let stroke = node.attribute("stroke").map(|stroke| (stroke, Some(width)));
        for (paint, line) in fill.map(|fill| (fill, None)).into_iter().chain(stroke) {
            let colour = colour(paint)?;
            let tone = match node.attribute("class") {
                Some("main") => Tone::Main,
                Some("shade") => Tone::Shade,
                Some("light") => Tone::Light,
                Some("lamp") => Tone::Lamp,
                Some("label") | None => Tone::Own(colour),
                Some(class) => return Err(format!("unknown class {class}")),
            };
            if tone == Tone::Main && self.colour == Colour::default() {
                self.colour = rgb(colour);
            }
            let layer = Layer {
                tone,
                line,
                is_even_odd: node.attribute("fill-rule") == Some("evenodd"),
                share: inherited.share,
                path: path.clone(),
                transform: inherited.transform,
            };
            if node.attribute("class") == Some("label") {
                let zeno::Bounds { min, max } = layer.bounds();
                self.label = Some([min.x, min.y, max.x, max.y]);
            }
            self.layers.push(layer);
        }
        Ok(())
    }

    /// Without classes, the main colour is that of the largest colourful layer.
    fn find_main(&mut self) {
        let size = |layer: &Layer| {
            let bounds = layer.bounds();
            bounds.width() * bounds.height()
        };
        let own = |layer: &Layer| match layer.tone {
            Tone::Own(hex) => rgb(hex),
            _ => WHITE,
        };
        let is_colourful = |layer: &&Layer| spread(own(layer)) > 0.25;
        let largest = self.layers.iter().filter(is_colourful);
        let largest = largest.max_by(|a, b| size(a).total_cmp(&size(b)));
        let largest = largest.or(self.layers.iter().max_by(|a, b| size(a).total_cmp(&size(b))));
        self.colour = largest.map_or(WHITE, own);
        for layer in &mut self.layers {
            if let Tone::Own(hex) = layer.tone
                && is_kin(rgb(hex), self.colour)
            {
                layer.tone = Tone::Kin(hex);
            }
        }
    }

    /// Scales the layers so that they fill a box that is 100 units high.
    fn crop(&mut self) {
        let bounds = self.layers.iter().map(Layer::bounds);
        let Some(all) = bounds.reduce(|mut all, bounds| {
            all.min.x = all.min.x.min(bounds.min.x);
            all.min.y = all.min.y.min(bounds.min.y);
            all.max.x = all.max.x.max(bounds.max.x);
            all.max.y = all.max.y.max(bounds.max.y);
            all
        }) else {
            return;
        };
        let scale = 100.0 / all.height().max(0.1);
        self.wide = all.width() * scale;
        let crop = Transform::translation(-all.min.x, -all.min.y).then_scale(scale, scale);
        for layer in &mut self.layers {
            layer.transform = Some(layer.transform.map_or(crop, |own| own.then(&crop)));
        }
    }
}

impl Layer {
    pub(super) fn bounds(&self) -> zeno::Bounds {
        zeno::bounds(&self.path, Style::default(), self.transform)
    }
}

/// How colourful a colour is.
fn spread([r, g, b]: Colour) -> f32 {
    r.max(g).max(b) - r.min(g).min(b)
}

/// Whether two colours differ in brightness, and hardly in hue.
fn is_kin(one: Colour, other: Colour) -> bool {
    let hue = |colour: Colour| {
        let grey = luma(colour).max(0.05);
        colour.map(|part| part / grey)
    };
    let (a, b) = (hue(one), hue(other));
    let is_near = |(a, b): (f32, f32)| (a - b).abs() < KIN + 0.25 * b;
    a.into_iter().zip(b).all(is_near) && (spread(one) > 0.15) == (spread(other) > 0.15)
}

/// The path of an element.
fn path(node: Node) -> Result<Vec<Command>, String> {
    let at = |name: &str| number(node, name).unwrap_or(0.0);
    let mut path = Vec::new();
    match node.tag_name().name() {
        "path" => return commands(node.attribute("d").unwrap_or_default()),
        "polygon" => {
            return commands(&format!("M{} Z", node.attribute("points").unwrap_or_default()));
        }
        "circle" => path.add_circle((at("cx"), at("cy")), at("r")),
        "ellipse" => path.add_ellipse((at("cx"), at("cy")), at("rx"), at("ry")),
        "rect" if at("rx") == 0.0 => path.add_rect((at("x"), at("y")), at("width"), at("height")),
        "rect" => {
            let (width, height, round) = (at("width"), at("height"), at("rx"));
            path.add_round_rect((at("x"), at("y")), width, height, round, round)
        }
        other => return Err(format!("unsupported element {other}")),
    };
    Ok(path)
}

fn commands(path: &str) -> Result<Vec<Command>, String> {
    let single = with_single_commands(path);
    zeno::validate_svg(&single).map_err(|at| format!("the path is wrong at {at}: {single}"))?;
    Ok(single.as_str().commands().collect())
}

/// The same path with one command for each arc and smooth curve, and smooth ones only after curves.
///
/// `zeno` reads no further arcs of a command. It reflects the wrong control point in further smooth
/// curves, and in those after a line.
fn with_single_commands(path: &str) -> String {
    let (mut single, mut last) = (String::new(), 'M');
    let letters = path.match_indices(|letter: char| letter.is_ascii_alphabetic() && letter != 'e');
    let mut starts: Vec<_> = letters.map(|(at, _)| at).collect();
    starts.push(path.len());
    for ends in starts.windows(2) {
        let command = path.get(ends[0]..ends[1]).unwrap_or_default();
        let Some(letter) = command.chars().next() else { continue };
        let (curves, count, still) = match letter {
            's' | 'S' => ("cCsS", 4, "c0 0 0 0 0 0"),
            't' | 'T' => ("qQtT", 2, "q0 0 0 0"),
            'a' | 'A' => ("", 7, ""),
            _ => {
                single.push_str(command);
                last = letter;
                continue;
            }
        };
        for numbers in path_numbers(command.get(1..).unwrap_or_default(), count).chunks(count) {
            if !curves.contains(last) {
                single.push_str(still);
            }
            single.push(letter);
            single.push_str(&numbers.join(" "));
            last = letter;
        }
    }
    single
}

/// The numbers of a path, which need no separator before a sign, before a second point, and around
/// the flags of an arc.
fn path_numbers(text: &str, count: usize) -> Vec<String> {
    let mut numbers = vec![String::new()];
    for letter in text.chars() {
        let is_flag = count == 7 && matches!((numbers.len() - 1) % count, 3 | 4);
        let Some(number) = numbers.last_mut() else { break };
        let is_next = match letter {
            ' ' | ',' => !number.is_empty(),
            '-' => !number.is_empty(),
            '.' => number.contains('.'),
            _ => false,
        };
        if is_next || is_flag && !number.is_empty() {
            numbers.push(String::new());
        }
        if let Some(number) = numbers.last_mut().filter(|_| ![' ', ','].contains(&letter)) {
            number.push(letter);
        }
    }
    numbers.retain(|number| !number.is_empty());
    numbers
}

fn transform(text: &str) -> Result<Option<Transform>, String> {
    let Some((name, rest)) = text.trim().split_once('(') else { return Ok(None) };
    let values = numbers(rest.trim_end_matches(')'));
    let transform = match (name, values.as_slice()) {
        ("translate", &[x, y]) => Transform::translation(x, y),
        ("scale", &[by]) => Transform::scale(by, by),
        ("scale", &[x, y]) => Transform::scale(x, y),
        ("rotate", &[angle]) => Transform::rotation(Angle::from_degrees(angle)),
        ("rotate", &[angle, x, y]) => Transform::translation(-x, -y)
            .then_rotate(Angle::from_degrees(angle))
            .then_translate(x, y),
        ("matrix", &[a, b, c, d, x, y]) => Transform::new(a, b, c, d, x, y),
        _ => return Err(format!("unsupported transform {text}")),
    };
    Ok(Some(transform))
}

fn number(node: Node, name: &str) -> Option<f32> {
    node.attribute(name)?.parse().ok()
}

fn numbers(text: &str) -> Vec<f32> {
    text.split([' ', ',']).filter_map(|number| number.parse().ok()).collect()
}

fn colour(text: &str) -> Result<u32, String> {
    let hex = text.strip_prefix('#').ok_or(format!("unsupported colour {text}"))?;
    let value = u32::from_str_radix(hex, 16).map_err(|error| format!("{text}: {error}"))?;
    // A digit for each channel stands for two.
    let double =
        |value: u32| (value & 0xf00) * 0x1100 + (value & 0xf0) * 0x110 + (value & 0xf) * 0x11;
    Ok(if hex.len() == 3 { double(value) } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_and_smooth_curves_have_commands_of_their_own() {
        for (path, single) in [
            ("M1 2C1 1 2 2 3 3s1 1 2 2", "M1 2C1 1 2 2 3 3s1 1 2 2"),
            ("M0 0h4s1-1.5.5-.5 1 1 2 2z", "M0 0h4c0 0 0 0 0 0s1 -1.5 .5 -.5s1 1 2 2z"),
            ("M0 0V2T3 4 5,6", "M0 0V2q0 0 0 0T3 4T5 6"),
            ("M0 0a1 2 0 01-.5.5 1 2 0 1 0 3 4", "M0 0a1 2 0 0 1 -.5 .5a1 2 0 1 0 3 4"),
        ] {
            assert_eq!(with_single_commands(path), single);
        }
    }

    #[test]
    fn elements_have_the_fills_and_places_of_their_groups() {
        let drawing = Drawing::read(
            r##"<svg viewBox="0 0 50 100"><g fill="#123" opacity=".5" transform="translate(10 20)">
            <rect x="1" y="2" width="3" height="4" rx="1" transform="rotate(90)"/></g></svg>"##,
        );
        let Drawing { wide, colour, layers, .. } = drawing.unwrap();
        assert_eq!((wide, colour), (50.0, rgb(0x112233)));
        let [layer] = layers.as_slice() else { panic!("there is one layer") };
        assert_eq!(layer.share, 0.5);
        let zeno::Bounds { min, max } = layer.bounds();
        let edges = [min.x, min.y, max.x, max.y].map(|edge| (edge * 100.0).round() / 100.0);
        assert_eq!(edges, [4.0, 21.0, 8.0, 24.0]);
        for wrong in ["<svg/>", "<svg viewBox='0 0 9 9'><text/></svg>", "<svg"] {
            assert!(Drawing::read(wrong).is_err(), "{wrong}");
        }
    }
}
