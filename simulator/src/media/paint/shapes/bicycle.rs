//! A bicycle.

use super::{Place, Shape, Tone::*, line};

pub(in super::super) static BICYCLE: Shape = Shape {
    place: Place::Land,
    height: 0.26,
    wide: 160.0,
    colour: 0xd8453c,
    layers: &[
        line(
            Own(0x22242c),
            3.0,
            "M8,68 C8,28 64,28 64,68 C64,108 8,108 8,68 Z M96,68 C96,28 152,28 152,68 C152,108 \
             96,108 96,68 Z",
        ),
        line(
            Own(0x8a929e),
            0.7,
            "M36,68 L36,40 M36,68 L36,97 M36,68 L9,68 M36,68 L63,68 M36,68 L17,48 M36,68 L55,88 \
             M36,68 L55,48 M36,68 L17,88 M124,68 L124,40 M124,68 L124,97 M124,68 L97,68 M124,68 \
             L151,68 M124,68 L105,48 M124,68 L143,88 M124,68 L143,48 M124,68 L105,88",
        ),
        line(Main, 4.0, "M36,68 L62,28 L112,26 L76,70 L36,68 M62,28 L76,70 M124,68 L108,14"),
        line(Own(0x2a2226), 4.0, "M50,22 L70,22 M108,14 C114,10 122,10 126,16"),
        line(Own(0x55606c), 2.4, "M76,70 L84,82 M80,82 L90,82"),
    ],
};
