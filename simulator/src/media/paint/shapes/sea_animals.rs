//! Animals of the sea.

use super::{Shape, Tone::*, Zone, fill, line};

/// A fish that leaps.
pub(in super::super) static FISH: Shape = Shape {
    zone: Zone::Water,
    height: 0.24,
    wide: 120.0,
    colour: 0xe8743b,
    layers: &[
        fill(
            Shade,
            "M60,30 C66,12 84,8 92,18 C88,24 84,30 80,36 Z M62,70 C66,84 78,88 84,80 C82,74 78,70 \
             74,66 Z",
        ),
        fill(Main, "M98,50 C106,40 112,32 118,28 C116,42 116,58 118,72 C112,68 106,60 98,50 Z"),
        fill(
            Main,
            "M4,52 C14,30 40,22 64,26 C82,30 94,40 102,50 C94,62 80,72 62,74 C40,78 14,72 4,52 Z",
        ),
        fill(Light, "M4,52 C20,56 40,66 66,73 C40,78 14,72 4,52 Z"),
        fill(
            Own(0xfff6ea),
            "M36,25 C44,36 44,62 36,75 L44,75 C52,62 52,38 44,25 Z M70,27.5 C78,38 78,60 70,72 \
             L77,69 C84,58 84,42 77,30.5 Z",
        ),
        fill(Own(0xffffff), "M16,46 C16,41 24,41 24,46 C24,51 16,51 16,46 Z"),
        fill(Own(0x1a1416), "M17.5,46 C17.5,43 22,43 22,46 C22,49 17.5,49 17.5,46 Z"),
    ],
};

/// A whale with a spout.
pub(in super::super) static WHALE: Shape = Shape {
    zone: Zone::Water,
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
