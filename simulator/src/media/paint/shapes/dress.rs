//! A dress with a belt.

use super::{Place, Shape, Tone::*, fill, line};

pub(in super::super) static DRESS: Shape = Shape {
    place: Place::Land,
    height: 0.54,
    wide: 84.0,
    colour: 0x9c3f74,
    layers: &[
        fill(
            Main,
            "M28,2 L34,2 C36,10 48,10 50,2 L56,2 L58,16 C56,26 55,34 56,42 C64,60 74,80 80,96 \
             C60,101 24,101 4,96 C10,80 20,60 28,42 C29,34 28,26 26,16 Z",
        ),
        fill(
            Shade,
            "M56,46 C64,62 74,82 80,96 C74,97.6 68,98.6 62,99.2 C62,82 58,62 52,46 Z M30,46 \
             C24,62 18,82 18,98.6 C20,98.8 22,99 24,99.2 C26,82 30,62 34,46 Z",
        ),
        line(Light, 1.2, "M42,46 C42,64 42,82 42,98"),
        fill(Own(0xf2c14e), "M28.5,40 L55.6,40 L56.4,45.5 L27.6,45.5 Z"),
    ],
};
