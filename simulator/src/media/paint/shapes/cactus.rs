//! A cactus with a flower.

use super::{Place, Shape, Tone::*, fill, line};

pub(in super::super) static CACTUS: Shape = Shape {
    place: Place::Land,
    height: 0.46,
    wide: 70.0,
    colour: 0x4c8c57,
    layers: &[
        line(
            Main,
            11.0,
            "M35,34 L35,100 M35,66 L16,66 C13,66 12,64 12,60 L12,44 M35,76 L54,76 C57,76 58,74 \
             58,70 L58,52",
        ),
        line(Main, 17.0, "M35,18 L35,100"),
        line(Light, 1.4, "M31,16 L31,99 M12,46 L12,58 M58,54 L58,68"),
        line(Shade, 1.4, "M36,14 L36,99 M40,17 L40,99"),
        fill(
            Own(0xe85d9a),
            "M35,10 C28,10 26,2 30,0 C32,2 34,3 35,1 C36,3 38,2 40,0 C44,2 42,10 35,10 Z",
        ),
    ],
};
