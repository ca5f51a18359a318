//! A lantern.

use super::{Place, Shape, Tone::*, fill, line};

pub(in super::super) static LANTERN: Shape = Shape {
    place: Place::Land,
    height: 0.34,
    wide: 56.0,
    colour: 0x7a3e2a,
    layers: &[
        line(Own(0x2c2226), 2.0, "M18,18 C18,2 38,2 38,18"),
        fill(Main, "M12,26 L28,14 L44,26 Z M10,88 L46,88 L48,99 L8,99 Z"),
        fill(Lamp, "M14,28 L42,28 L45,86 L11,86 Z"),
        fill(Own(0xffe9a8), "M28,46 C34,56 36,64 34,72 C32,78 24,78 22,72 C20,64 24,58 28,46 Z"),
        line(
            Own(0x2c2226),
            2.2,
            "M13,27 L10.5,87 M43,27 L45.5,87 M28,27 L28,46 M10,87 L46,87 M12,27 L44,27",
        ),
    ],
};
