//! A broad tree.

use super::{Place, Shape, Tone::*, fill, line};

pub(in super::super) static TREE: Shape = Shape {
    place: Place::Back,
    height: 0.56,
    wide: 96.0,
    colour: 0x4f8a3c,
    layers: &[
        fill(Own(0x5e4030), "M43,100 C46,86 46,74 44,58 L52,58 C51,74 52,86 56,100 Z"),
        line(Own(0x5e4030), 3.0, "M47,72 C40,66 34,62 28,58 M49,68 C56,62 62,58 70,54"),
        fill(
            Shade,
            "M10,58 C-2,50 2,34 14,30 C14,12 34,2 50,6 C66,0 84,10 84,26 C98,32 98,52 84,58 \
             C76,70 58,70 48,64 C36,72 18,70 10,58 Z",
        ),
        fill(
            Main,
            "M12,50 C4,42 8,32 18,30 C18,14 36,6 50,10 C64,4 80,12 80,26 C92,30 92,46 80,50 \
             C72,60 58,60 48,54 C36,62 20,60 12,50 Z",
        ),
        fill(
            Light,
            "M22,34 C22,20 36,14 48,17 C58,12 70,16 72,26 C62,22 54,24 48,28 C38,26 28,28 22,34 Z",
        ),
    ],
};
