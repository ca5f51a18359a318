//! The colours of a landscape at different times of day and year.

use super::canvas::{Colour, rgb};

pub(super) struct Palette {
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
    pub(super) night: bool,
}

const fn day(zenith: u32, horizon: u32, light: u32, far: u32, near: u32) -> Palette {
    Palette {
        zenith: rgb(zenith),
        horizon: rgb(horizon),
        light: rgb(light),
        far: rgb(far),
        near: rgb(near),
        night: false,
    }
}

const fn night(zenith: u32, horizon: u32, light: u32, far: u32, near: u32) -> Palette {
    Palette { night: true, ..day(zenith, horizon, light, far, near) }
}

pub(super) const PALETTES: [Palette; 10] = [
    day(0x2b3a67, 0xf7b267, 0xfff1c9, 0xa86a7a, 0x2a1e35),
    day(0x3f88c5, 0xdff1f7, 0xfffbe6, 0x8fb3c9, 0x1f4d3a),
    day(0x4a1942, 0xff8c61, 0xffe29a, 0xb0546a, 0x24122e),
    day(0x7f9cbd, 0xf3ece4, 0xffffff, 0xb4c5d6, 0x34475b),
    day(0x5d8aa0, 0xfbe3b5, 0xfff6d6, 0xc98d55, 0x4a2318),
    day(0x114b5f, 0xc6ead8, 0xf8ffe5, 0x6fa8a0, 0x0b2f35),
    day(0x564787, 0xf2d0e0, 0xfff4fa, 0x9a86c0, 0x2b2147),
    day(0xc97b4f, 0xfce8c8, 0xfffbea, 0xd1885c, 0x5c2a1d),
    night(0x060a20, 0x33497c, 0xf4f1de, 0x31436b, 0x060a18),
    night(0x03111f, 0x1d5c5a, 0xe8fff2, 0x1f4f55, 0x03141a),
];
