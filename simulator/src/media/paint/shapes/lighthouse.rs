//! A striped lighthouse on a rock.

use super::{Place, Shape, Tone::*, fill};

pub(in super::super) static LIGHTHOUSE: Shape = Shape {
    place: Place::Back,
    height: 0.60,
    wide: 70.0,
    colour: 0xd8453c,
    layers: &[
        fill(Own(0x4a4a56), "M2,100 C6,90 16,86 24,88 C34,84 48,86 54,90 C62,90 66,96 68,100 Z"),
        fill(Own(0xf8f4ec), "M27,26 L43,26 L49,90 L21,90 Z"),
        fill(Main, "M26.1,36 L43.9,36 L45.2,50 L24.8,50 Z M23.5,64 L46.5,64 L47.8,78 L22.2,78 Z"),
        fill(Own(0xe2d9cc), "M37,26 L43,26 L49,90 L40,90 Z"),
        fill(Own(0x2e2e38), "M23,22 L47,22 L47,26.5 L23,26.5 Z M28,10 L42,10 L42,22 L28,22 Z"),
        fill(Lamp, "M30,12 L40,12 L40,21 L30,21 Z"),
        fill(Own(0xb83a32), "M26,10.5 L44,10.5 C43,4 38,2 35,0 C32,2 27,4 26,10.5 Z"),
        fill(
            Lamp,
            "M33,56 C33,53 37,53 37,56 L37,60 L33,60 Z M33,82 C33,78 38,78 38,82 L38,90 L33,90 Z",
        ),
    ],
};
