//! The colours of a painting: those of the time of day, changed by the weather and by the prompt.

use super::super::{
    canvas::{Colour, mix, rgb},
    noise::Draw,
    palette::{PALETTES, Palette, Time},
    scene::Scene,
    tables::Sight,
};

/// What is painted at night, or by day, if the prompt names no time.
const NIGHTLY: [Sight; 6] =
    [Sight::Moon, Sight::Stars, Sight::Aurora, Sight::Neon, Sight::Space, Sight::Fireworks];
const DAILY: [Sight; 5] =
    [Sight::Snow, Sight::Rainbow, Sight::Snowfall, Sight::Summer, Sight::Studio];

/// Weather, the grey that it blends over the colours, and how much of it.
const DULL: [(Sight, u32, f32); 4] = [
    (Sight::Rain, 0x74808c, 0.6),
    (Sight::Storm, 0x424a58, 0.72),
    (Sight::Snowfall, 0xb4c0cc, 0.5),
    (Sight::Fog, 0xc4c8ca, 0.45),
];

/// What colours everything if the prompt gives it a colour, and how much.
const TINTS: [(Sight, f32); 3] = [(Sight::Sky, 0.6), (Sight::Sun, 0.3), (Sight::Clouds, 0.2)];

/// The palette of the time of day in the prompt; without one, that of a time that suits the scene.
pub(super) fn palette(scene: &Scene, draw: &mut Draw) -> Palette {
    let any = |sights: &[Sight]| sights.iter().any(|sight| scene.has(*sight));
    let time = scene.time.or_else(|| {
        let night = any(&NIGHTLY).then_some(Time::Night);
        night.or_else(|| any(&DAILY).then_some(Time::Day))
    });
    let suits = |palette: &&Palette| match time {
        Some(time) => palette.time == time,
        None => scene.subjects.is_empty() || palette.time != Time::Night,
    };
    let suitable: Vec<_> = PALETTES.iter().filter(suits).collect();
    let number = draw.next() as usize % suitable.len().max(1);
    let mut palette = **suitable.get(number).unwrap_or(&&PALETTES[0]);
    let ambient = if palette.time == Time::Night { 0.28 } else { 1.0 };
    for (sight, grey, share) in DULL {
        if scene.has(sight) {
            blend(&mut palette, rgb(grey).map(|part| part * ambient), share);
        }
    }
    for (sight, share) in TINTS {
        if let Some(colour) = scene.colour_of(sight) {
            blend(&mut palette, colour, share);
        }
    }
    if let Some(colour) = scene.tint {
        blend(&mut palette, colour, 0.5);
    }
    palette
}

fn blend(palette: &mut Palette, colour: Colour, share: f32) {
    for part in [&mut palette.zenith, &mut palette.horizon, &mut palette.far] {
        *part = mix(*part, colour, share);
    }
    palette.near = mix(palette.near, colour, share * 0.5);
    palette.light = mix(palette.light, colour, share * 0.3);
}

/// The colours of far and near ground, in daylight.
const EARTHS: [(Sight, u32, u32); 10] = [
    (Sight::Space, 0x6a6a74, 0x8a8a92),
    (Sight::City, 0x5a5f6c, 0x3a3d48),
    (Sight::Neon, 0x3a3d50, 0x2a2a3a),
    (Sight::Snow, 0xb6c8de, 0xfafcff),
    (Sight::Snowfall, 0xb6c8de, 0xf2f6fb),
    (Sight::Beach, 0x9db8c0, 0xecd8a6),
    (Sight::Desert, 0xe3b987, 0xcb8748),
    (Sight::Autumn, 0xbf8f58, 0x8f4f22),
    (Sight::Spring, 0xb2cfa8, 0x6aa854),
    (Sight::Field, 0xa2c48c, 0x5a9a44),
];

/// The colours of far and near ground.
pub(super) fn earth(scene: &Scene, palette: &Palette) -> (Colour, Colour) {
    let own = EARTHS.into_iter().find(|(sight, ..)| scene.has(*sight));
    let (mut far, mut near) = (palette.far, palette.near);
    if let Some((sight, own_far, own_near)) = own {
        let lit = |colour: Colour, share: f32| {
            let dark = if palette.time == Time::Night { 0.62 } else { 1.0 };
            mix(palette.time.lit(colour).map(|part| part * dark), palette.horizon, share)
        };
        far = mix(lit(rgb(own_far), 0.25), palette.far, 0.3);
        near = lit(scene.colour_of(sight).unwrap_or(rgb(own_near)), 0.03);
    } else if scene.has(Sight::Summer) || scene.has(Sight::Hills) {
        near = mix(palette.near, rgb(0x4f9a3e), 0.55);
    }
    for sight in [Sight::Hills, Sight::Mountains, Sight::Forest] {
        if let Some(colour) = scene.colour_of(sight) {
            (far, near) = (mix(far, colour, 0.6), mix(near, colour, 0.35));
        }
    }
    (far, near)
}
