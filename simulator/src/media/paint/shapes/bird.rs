//! A bird in flight.

use super::{Place, Shape, Tone::*, fill};

pub(in super::super) static BIRD: Shape = Shape {
    place: Place::Air,
    height: 0.13,
    wide: 150.0,
    colour: 0x2f3440,
    layers: &[
        fill(Main, "M75,62 C66,44 44,30 6,30 C24,40 30,50 38,58 C46,66 56,72 66,74 Z"),
        fill(Shade, "M75,62 C82,40 108,20 146,16 C132,30 128,42 120,52 C110,64 96,72 84,74 Z"),
        fill(
            Main,
            "M48,84 L60,74 C66,66 76,60 88,62 C96,60 100,62 102,66 L112,70 L101,72 C96,80 84,84 \
             72,82 Z",
        ),
        fill(Light, "M60,78 C70,80 86,80 98,74 C92,80 82,83 72,82 Z"),
    ],
};
