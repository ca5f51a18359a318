//! A rocket.

use super::{Place, Shape, Tone::*, fill};

pub(in super::super) static ROCKET: Shape = Shape {
    place: Place::Air,
    height: 0.46,
    wide: 60.0,
    colour: 0xf2f2f5,
    layers: &[
        fill(Own(0xffb43a), "M22,80 C20,90 26,94 30,104 C34,94 40,90 38,80 Z"),
        fill(Own(0xfff0b8), "M26,80 C25,87 28,90 30,96 C32,90 35,87 34,80 Z"),
        fill(
            Own(0xd8453c),
            "M16,54 C6,60 4,72 6,86 C10,80 14,77 20,76 Z M44,54 C54,60 56,72 54,86 C50,80 46,77 \
             40,76 Z",
        ),
        fill(
            Main,
            "M30,0 C44,14 48,36 46,56 C45,66 43,74 40,80 L20,80 C17,74 15,66 14,56 C12,36 16,14 \
             30,0 Z",
        ),
        fill(Shade, "M30,0 C44,14 48,36 46,56 C45,66 43,74 40,80 L33,80 C38,60 38,24 30,0 Z"),
        fill(Own(0xd8453c), "M30,0 C36,6 40,13 42.5,21 C36,24 24,24 17.5,21 C20,13 24,6 30,0 Z"),
        fill(Own(0x8f98a8), "M20,38 C20,25 40,25 40,38 C40,51 20,51 20,38 Z"),
        fill(Lamp, "M22.5,38 C22.5,28.5 37.5,28.5 37.5,38 C37.5,47.5 22.5,47.5 22.5,38 Z"),
        fill(Own(0x8f98a8), "M20,80 L40,80 L38,85 L22,85 Z"),
    ],
};
