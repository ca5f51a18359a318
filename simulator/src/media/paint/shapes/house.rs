//! A house with a chimney and lit windows.

use super::{Place, Shape, Tone::*, fill};

pub(in super::super) static HOUSE: Shape = Shape {
    place: Place::Back,
    height: 0.40,
    wide: 110.0,
    colour: 0xe9d9bf,
    layers: &[
        fill(Own(0x7c4a38), "M76,12 L88,12 L88,44 L76,44 Z"),
        fill(Own(0x5e3629), "M74,9 L90,9 L90,15 L74,15 Z"),
        fill(Main, "M14,46 L55,14 L96,46 L96,99 L14,99 Z"),
        fill(Shade, "M14,46 L55,14 L96,46 L96,54 L55,24 L14,54 Z"),
        fill(Own(0x9a4a3a), "M55,6 L106,47 L100,53 L55,17 L10,53 L4,47 Z"),
        fill(Own(0x5a3a2c), "M47,99 L47,72 C47,64 63,64 63,72 L63,99 Z"),
        fill(Own(0xf2c14e), "M58.5,84 C58.5,82 61.5,82 61.5,84 C61.5,86 58.5,86 58.5,84 Z"),
        fill(Own(0xfaf4e8), "M21,62 L41,62 L41,84 L21,84 Z M69,62 L89,62 L89,84 L69,84 Z"),
        fill(
            Lamp,
            "M23,64 L30,64 L30,72 L23,72 Z M32,64 L39,64 L39,72 L32,72 Z M23,74 L30,74 L30,82 \
             L23,82 Z M32,74 L39,74 L39,82 L32,82 Z M71,64 L78,64 L78,72 L71,72 Z M80,64 L87,64 \
             L87,72 L80,72 Z M71,74 L78,74 L78,82 L71,82 Z M80,74 L87,74 L87,82 L80,82 Z M50,40 \
             C50,33 60,33 60,40 C60,47 50,47 50,40 Z",
        ),
    ],
};
