//! Silhouettes: what stands, floats or flies in a painting.
//!
//! A shape is drawn in a box that is 100 units high and stands on its lower edge. Paths are written
//! as in SVG.

mod buildings;
mod clothes;
mod flying_animals;
mod land_animals;
mod objects;
mod people;
mod plants;
mod sea_animals;
mod vehicles;

use super::canvas::{Colour, rgb};

pub(super) use self::{
    buildings::{CASTLE, HOUSE, LIGHTHOUSE, WINDMILL},
    clothes::{DRESS, HAT, SHIRT},
    flying_animals::{BIRD, BUTTERFLY, OWL},
    land_animals::{BEAR, CAT, DEER, DOG, FOX, HORSE, RABBIT, WOLF},
    objects::{CUP, LANTERN, ROBOT},
    people::{MAN, PERSON, WOMAN},
    plants::{CACTUS, FLOWER, MUSHROOM, PALM, TREE},
    sea_animals::{FISH, WHALE},
    vehicles::{BALLOON, BICYCLE, BOAT, CAR, ROCKET},
};

/// The part of a painting that a shape belongs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

pub(super) struct Shape {
    pub(super) zone: Zone,
    /// The height as a share of the picture's shorter side.
    pub(super) height: f32,
    /// The width of the box.
    pub(super) wide: f32,
    /// The main colour, unless the prompt names another.
    pub(super) colour: u32,
    /// From back to front.
    pub(super) layers: &'static [Layer],
}

pub(super) struct Layer {
    pub(super) tone: Tone,
    /// The width of a line; `None` fills the path.
    pub(super) line: Option<f32>,
    pub(super) path: &'static str,
}

#[derive(Clone, Copy)]
pub(super) enum Tone {
    /// The main colour.
    Main,
    /// The main colour in shadow.
    Shade,
    /// The main colour in light.
    Light,
    /// A colour of its own.
    Own(u32),
    /// A lamp, or a window: dark glass by day, and light by night.
    Lamp,
}

impl Tone {
    pub(super) fn of(self, main: Colour) -> Colour {
        match self {
            Self::Main => main,
            Self::Shade => main.map(|part| part * 0.72),
            Self::Light => main.map(|part| part + (1.0 - part) * 0.32),
            Self::Own(hex) => rgb(hex),
            Self::Lamp => rgb(0x33465c),
        }
    }
}

const fn fill(tone: Tone, path: &'static str) -> Layer {
    Layer { tone, line: None, path }
}

const fn line(tone: Tone, width: f32, path: &'static str) -> Layer {
    Layer { tone, line: Some(width), path }
}
