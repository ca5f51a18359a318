//! A mushroom with spots.

use super::{Place, Shape, Tone::*, fill};

pub(in super::super) static MUSHROOM: Shape = Shape {
    place: Place::Land,
    height: 0.32,
    wide: 90.0,
    colour: 0xd0392f,
    layers: &[
        fill(Own(0xf6ead6), "M34,50 L56,50 C54,68 60,84 64,98 L26,98 C32,84 36,68 34,50 Z"),
        fill(Own(0xdccab0), "M50,52 L56,50 C54,68 60,84 64,98 L52,98 C52,82 50,66 50,52 Z"),
        fill(Own(0xead8bc), "M22,52 C34,64 56,64 68,52 Z"),
        fill(Main, "M2,50 C4,22 24,4 46,4 C68,4 86,22 88,50 C72,58 20,58 2,50 Z"),
        fill(
            Shade,
            "M2,50 C20,58 72,58 88,50 C87.8,46 87,42 86,38 C70,50 22,50 4,38 C2.8,42 2.2,46 2,50 \
             Z",
        ),
        fill(
            Own(0xfdf6ea),
            "M36,16 C36,9 50,9 50,16 C50,23 36,23 36,16 Z M16,30 C16,22 30,22 30,30 C30,38 16,38 \
             16,30 Z M58,28 C58,19 74,20 74,29 C74,37 58,36 58,28 Z M40,40 C40,34 52,34 52,40 \
             C52,46 40,46 40,40 Z",
        ),
    ],
};
