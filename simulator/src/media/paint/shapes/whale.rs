//! A whale with a spout.

use super::{Place, Shape, Tone::*, fill, line};

pub(in super::super) static WHALE: Shape = Shape {
    place: Place::Water,
    height: 0.28,
    wide: 160.0,
    colour: 0x3f6d8c,
    layers: &[
        line(
            Own(0xe8f6fb),
            3.5,
            "M46,40 C44,26 36,16 26,16 M46,40 C48,24 54,12 66,12 M46,40 L46,18",
        ),
        fill(
            Main,
            "M128,66 C136,50 134,38 126,28 C136,28 142,32 146,40 C148,30 152,24 160,22 C162,40 \
             152,60 138,76 Z",
        ),
        fill(
            Main,
            "M4,74 C4,50 32,38 60,40 C92,42 112,58 132,64 L140,78 C132,94 108,100 70,100 L20,100 \
             C8,96 4,86 4,74 Z",
        ),
        fill(Own(0xe9eef0), "M4,82 C22,88 52,88 78,100 L20,100 C10,96 5,90 4,82 Z"),
        fill(Shade, "M66,78 C76,80 84,88 86,98 C76,98 66,92 62,84 Z"),
        fill(Own(0x12202c), "M28,74 C28,70.5 34,70.5 34,74 C34,77.5 28,77.5 28,74 Z"),
    ],
};
