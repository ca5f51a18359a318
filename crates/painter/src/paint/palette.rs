//! The colours of a landscape at different times of day and year.

use serde::Deserialize;

use super::canvas::{Colour, lit, rgb};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Time {
    Dawn,
    Day,
    Sunset,
    Night,
}

impl Time {
    /// The light on things that have a colour of their own.
    pub(super) fn ambient(self) -> Colour {
        match self {
            Self::Dawn => [1.0, 0.91, 0.90],
            Self::Day => [1.0, 1.0, 1.0],
            Self::Sunset => [0.98, 0.80, 0.72],
            Self::Night => [0.50, 0.56, 0.78],
        }
    }

    /// A colour in this light.
    pub(super) fn lit(self, colour: Colour) -> Colour {
        lit(colour, self.ambient())
    }
}

#[derive(Clone, Copy)]
pub(super) struct Palette {
    pub(super) time: Time,
    /// The upper sky.
    pub(super) zenith: Colour,
    /// The lower sky.
    pub(super) horizon: Colour,
    /// The sun or the moon, and its glow.
    pub(super) light: Colour,
    /// The farthest hills.
    pub(super) far: Colour,
    /// The nearest hills.
    pub(super) near: Colour,
}

impl Palette {
    const fn new(time: Time, [zenith, horizon, light, far, near]: [u32; 5]) -> Self {
        Self {
            time,
            zenith: rgb(zenith),
            horizon: rgb(horizon),
            light: rgb(light),
            far: rgb(far),
            near: rgb(near),
        }
    }

    /// Whether the sun is low, so that lamps are lit.
    pub(super) fn is_dusky(&self) -> bool {
        self.time != Time::Day
    }
}

use Time::*;

pub(super) const PALETTES: [Palette; 16] = [
    Palette::new(Sunset, [0x2b3a67, 0xf7b267, 0xfff1c9, 0xa86a7a, 0x2a1e35]),
    Palette::new(Day, [0x3f88c5, 0xdff1f7, 0xfffbe6, 0x8fb3c9, 0x1f4d3a]),
    Palette::new(Sunset, [0x4a1942, 0xff8c61, 0xffe29a, 0xb0546a, 0x24122e]),
    Palette::new(Day, [0x7f9cbd, 0xf3ece4, 0xffffff, 0xb4c5d6, 0x34475b]),
    Palette::new(Dawn, [0x5d8aa0, 0xfbe3b5, 0xfff6d6, 0xc98d55, 0x4a2318]),
    Palette::new(Day, [0x2f8f9d, 0xc6ead8, 0xf8ffe5, 0x6fa8a0, 0x0b3f35]),
    Palette::new(Dawn, [0x564787, 0xf2d0e0, 0xfff4fa, 0x9a86c0, 0x2b2147]),
    Palette::new(Sunset, [0xc97b4f, 0xfce8c8, 0xfffbea, 0xd1885c, 0x5c2a1d]),
    Palette::new(Night, [0x060a20, 0x33497c, 0xf4f1de, 0x31436b, 0x060a18]),
    Palette::new(Night, [0x03111f, 0x1d5c5a, 0xe8fff2, 0x1f4f55, 0x03141a]),
    Palette::new(Dawn, [0x7fa6c9, 0xffd9c0, 0xfff3e0, 0xc7a5a8, 0x4a4560]),
    Palette::new(Day, [0x4a7fd0, 0xe9f3ff, 0xfffdf2, 0x9fbfdc, 0x2f6b45]),
    Palette::new(Sunset, [0x29305e, 0xff6f5e, 0xffd28a, 0x8a4a78, 0x1b1433]),
    Palette::new(Night, [0x12082b, 0x5a3a7d, 0xfdf0ff, 0x4a3470, 0x0d0720]),
    Palette::new(Night, [0x020617, 0x243b6b, 0xf7f4e4, 0x24365e, 0x040818]),
    Palette::new(Dawn, [0x6a6fae, 0xffc2a1, 0xffeed0, 0xb287a0, 0x35284a]),
];
