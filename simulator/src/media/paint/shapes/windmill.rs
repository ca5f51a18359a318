//! A windmill.

use super::{Place, Shape, Tone::*, fill, line};

pub(in super::super) static WINDMILL: Shape = Shape {
    place: Place::Back,
    height: 0.54,
    wide: 100.0,
    colour: 0xf1e7d6,
    layers: &[
        fill(Main, "M36,42 L64,42 L72,99 L28,99 Z"),
        fill(Shade, "M54,42 L64,42 L72,99 L58,99 Z"),
        fill(Own(0x8a4436), "M34,44 C34,30 66,30 66,44 Z"),
        fill(Own(0x5a3a2c), "M44,99 L44,84 C44,78 56,78 56,84 L56,99 Z"),
        fill(Lamp, "M46,60 C46,55 54,55 54,60 L54,66 L46,66 Z"),
        line(Own(0x54382a), 1.8, "M50,38 L20,6 M50,38 L82,8 M50,38 L80,70 M50,38 L18,68"),
        fill(
            Own(0xfaf2e2),
            "M46,32 L22,6 L14,14 L40,38 Z M56,34 L82,10 L74,2 L50,28 Z M54,44 L78,70 L86,62 \
             L60,38 Z M44,42 L18,66 L26,74 L50,48 Z",
        ),
        line(
            Own(0xa08a74),
            0.8,
            "M38,24 L30,30 M30,15 L22,22 M64,26 L58,20 M72,18 L66,10 M62,52 L68,46 M70,61 L77,54 \
             M38,48 L44,54 M29,56 L36,63",
        ),
        fill(Own(0x54382a), "M46,38 C46,33 54,33 54,38 C54,43 46,43 46,38 Z"),
    ],
};
