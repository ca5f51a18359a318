//! Buildings.

use super::{Shape, Tone::*, Zone, fill, line};

/// A castle with four towers.
pub(in super::super) static CASTLE: Shape = Shape {
    zone: Zone::Back,
    height: 0.52,
    wide: 128.0,
    colour: 0x9a93a4,
    layers: &[
        line(Own(0x4a4450), 0.9, "M30,26 L30,10 M64,16 L64,0 M98,26 L98,10"),
        fill(
            Own(0xd8453c),
            "M30,10 L42,13.5 L30,17 Z M64,0 L78,4 L64,8 Z M98,10 L110,13.5 L98,17 Z",
        ),
        fill(Shade, "M54,34 L74,34 L74,70 L54,70 Z"),
        fill(
            Own(0x5c4a78),
            "M64,14 L77,36 L51,36 Z M30,24 L42,48 L18,48 Z M98,24 L110,48 L86,48 Z",
        ),
        fill(
            Main,
            "M20,48 L40,48 L40,66 L44,66 L44,62 L50,62 L50,66 L56,66 L56,62 L62,62 L62,66 L66,66 \
             L66,62 L72,62 L72,66 L78,66 L78,62 L84,62 L84,66 L88,66 L88,48 L108,48 L108,99 \
             L20,99 Z",
        ),
        fill(
            Shade,
            "M34,48 L40,48 L40,99 L34,99 Z M102,48 L108,48 L108,99 L102,99 Z M40,70 L88,70 L88,73 \
             L40,73 Z",
        ),
        fill(
            Main,
            "M2,66 L6,66 L6,70 L10,70 L10,66 L14,66 L14,70 L18,70 L18,66 L22,66 L22,99 L2,99 Z \
             M106,66 L110,66 L110,70 L114,70 L114,66 L118,66 L118,70 L122,70 L122,66 L126,66 \
             L126,99 L106,99 Z",
        ),
        fill(Shade, "M18,72 L22,72 L22,99 L18,99 Z M121,72 L126,72 L126,99 L121,99 Z"),
        fill(Own(0x38282c), "M55,99 L55,86 C55,76 73,76 73,86 L73,99 Z"),
        line(
            Own(0x8a7a70),
            0.9,
            "M59,99 L59,80 M64,99 L64,79 M69,99 L69,80 M55,86 L73,86 M55,92 L73,92",
        ),
        fill(
            Lamp,
            "M27,60 C27,54 33,54 33,60 L33,66 L27,66 Z M95,60 C95,54 101,54 101,60 L101,66 L95,66 \
             Z M61,46 C61,41 67,41 67,46 L67,52 L61,52 Z M10,80 C10,76 14,76 14,80 L14,85 L10,85 \
             Z M114,80 C114,76 118,76 118,80 L118,85 L114,85 Z M46,84 C46,80 50,80 50,84 L50,88 \
             L46,88 Z M78,84 C78,80 82,80 82,84 L82,88 L78,88 Z",
        ),
    ],
};

/// A house with a chimney and lit windows.
pub(in super::super) static HOUSE: Shape = Shape {
    zone: Zone::Back,
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

/// A striped lighthouse on a rock.
pub(in super::super) static LIGHTHOUSE: Shape = Shape {
    zone: Zone::Back,
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

/// A windmill.
pub(in super::super) static WINDMILL: Shape = Shape {
    zone: Zone::Back,
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
