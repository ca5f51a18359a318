//! A sailing boat.

use super::{Place, Shape, Tone::*, fill, line};

pub(in super::super) static BOAT: Shape = Shape {
    place: Place::Water,
    height: 0.40,
    wide: 100.0,
    colour: 0xf6efe2,
    layers: &[
        line(Own(0x4a2f22), 1.8, "M50,82 L50,4"),
        fill(Main, "M52,6 C70,28 84,52 90,72 C78,76 64,76 52,74 Z"),
        fill(Shade, "M52,60 C64,62 80,62 87.5,65 L90,72 C78,76 64,76 52,74 Z"),
        fill(Light, "M48,16 C44,38 32,58 16,72 C26,75 38,75 48,74 Z"),
        fill(Own(0xd8453c), "M50,2 L50,9 L38,5.5 Z"),
        fill(Own(0x8a4b2e), "M6,80 L96,80 C92,92 86,100 78,104 L24,104 C14,100 8,90 6,80 Z"),
        fill(Own(0x6b3722), "M10,88 L93,88 C90,95 85,101 78,104 L24,104 C16,101 12,95 10,88 Z"),
        fill(Own(0xf2e3c8), "M6,80 L96,80 L95,83.5 L7,83.5 Z"),
    ],
};
