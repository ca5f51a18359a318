//! A steaming cup.

use super::{Place, Shape, Tone::*, fill, line};

pub(in super::super) static CUP: Shape = Shape {
    place: Place::Land,
    height: 0.34,
    wide: 110.0,
    colour: 0xf4efe6,
    layers: &[
        line(
            Own(0xf4f4f4),
            2.4,
            "M36,30 C30,22 42,16 36,6 M52,30 C46,20 58,14 52,2 M68,30 C62,22 74,16 68,6",
        ),
        line(Main, 6.0, "M82,50 C102,46 104,76 78,76"),
        fill(Own(0x000000), "M20,97 L84,97 L80,99 L24,99 Z"),
        fill(Main, "M18,38 L86,38 C86,66 80,88 68,94 L36,94 C24,88 18,66 18,38 Z"),
        fill(Shade, "M70,38 L86,38 C86,66 80,88 68,94 L58,94 C66,82 70,62 70,38 Z"),
        fill(Own(0x5a3424), "M18,38 C24,33 80,33 86,38 C80,43 24,43 18,38 Z"),
        fill(Shade, "M8,93 L96,93 C92,99 84,100 76,100 L28,100 C20,100 12,99 8,93 Z"),
    ],
};
