//! A person in a coat, seen from behind.

use super::{Place, Shape, Tone::*, fill};

pub(in super::super) static PERSON: Shape = Shape {
    place: Place::Land,
    height: 0.42,
    wide: 44.0,
    colour: 0xb5483c,
    layers: &[
        fill(
            Own(0x2b2a34),
            "M15,74 L21.5,74 L21,99 L13,99 C13,97 15,96 15.5,95 Z M22.5,74 L29,74 L28.5,95 C29,96 \
             31,97 31,99 L23,99 Z",
        ),
        fill(
            Main,
            "M22,20 C30,20 35,25 36,32 L42,58 C41,61 37,61 36,59 L32,48 L34,80 C28,84 16,84 10,80 \
             L12,48 L8,59 C7,61 3,61 2,58 L8,32 C9,25 14,20 22,20 Z",
        ),
        fill(
            Shade,
            "M22,24 L22,83 C26,83 31,82 34,80 L32,48 L36,59 C37,61 41,61 42,58 L36,32 C35,26 \
             30,22 22,24 Z",
        ),
        fill(
            Own(0xe9c46a),
            "M13.5,22 C18,18 26,18 30.5,22 C31,25 29,27 22,27 C15,27 13,25 13.5,22 Z",
        ),
        fill(
            Own(0x4a2f26),
            "M22,1 C29,1 32,7 31,14 C30,20 26,22 22,22 C18,22 14,20 13,14 C12,7 15,1 22,1 Z",
        ),
    ],
};
