//! What all parts of a painting have in common: light, colours and proportions.

use crate::paint::{
    canvas::{Canvas, Colour, mix, rgb},
    noise::{Draw, ridge},
    palette::{PALETTES, Palette, Time},
    scene::Scene,
    shapes::Zone,
    tables::Sight,
};

/// Where the street of a city begins, as a share of the distance to the floor.
pub(super) const STREET: f32 = 0.86;

pub(super) struct Setting<'a> {
    pub(super) scene: &'a Scene,
    pub(super) palette: Palette,
    /// What is between the sky and the foreground: a place, or `Hills`.
    pub(super) terrain: Sight,
    pub(super) width: f32,
    /// The shorter side.
    pub(super) short: f32,
    /// The lower edge of what is not covered by a caption.
    pub(super) floor: f32,
    pub(super) skyline: f32,
    /// Where the land ends: at the water, or at the lower edge.
    pub(super) shore: f32,
    pub(super) has_lake: bool,
    /// The upper edge of the foreground in each column, if there is a foreground.
    pub(super) bank: Option<Vec<f32>>,
    /// The position of the sun or the moon.
    pub(super) light: (f32, f32),
}

impl<'a> Setting<'a> {
    pub(super) fn new(canvas: &Canvas, scene: &'a Scene, draw: &mut Draw, floor: f32) -> Self {
        let (width, short) = (canvas.width as f32, canvas.short());
        let palette = palette_of(scene, draw);
        let (terrain, has_lake) = terrain(scene, draw);
        let skyline = floor * skyline(scene, terrain, draw);
        let shore = match terrain {
            Sight::Sea => skyline,
            _ if has_lake => skyline + (floor - skyline) * draw.between(0.42, 0.52),
            _ => canvas.height as f32,
        };
        let low = if palette.is_dusky() && palette.time != Time::Night { 0.6 } else { 0.3 };
        let light = (width * draw.between(0.16, 0.84), skyline * draw.between(low, low + 0.25));
        let (seed, stands) = (draw.next(), stands(scene, &GROUND));
        let has_bank = match terrain {
            _ if scene.has(Sight::Table) => false,
            Sight::City => true,
            Sight::Sea => stands || scene.has(Sight::Beach),
            Sight::Studio | Sight::Room => false,
            _ => stands,
        };
        let bank_at = |x: usize| match terrain {
            // A street is level.
            Sight::City => floor * STREET,
            _ => floor * 0.83 + (0.5 - ridge(seed, x as f32 / short * 1.3, 3)) * short * 0.09,
        };
        let bank = has_bank.then(|| (0..canvas.width).map(bank_at).collect());
        Self { scene, palette, terrain, width, short, floor, skyline, shore, has_lake, bank, light }
    }

    /// How much larger things are than in a landscape.
    pub(super) fn scale(&self) -> f32 {
        match self.terrain {
            Sight::Studio | Sight::Table => 1.6,
            Sight::Room => 1.25,
            _ => 1.0,
        }
    }

    pub(super) fn is_inside(&self) -> bool {
        matches!(self.terrain, Sight::Studio | Sight::Table | Sight::Room)
    }

    /// The far edge of a table.
    pub(super) fn table_edge(&self) -> f32 {
        self.floor * 0.68
    }

    pub(super) fn is_night(&self) -> bool {
        self.palette.time == Time::Night
    }

    /// Whether there is a table in front, on which things stand.
    pub(super) fn has_table(&self) -> bool {
        self.scene.has(Sight::Table) && self.terrain != Sight::Room
    }

    /// The colour of the ground, from the farthest (depth 0) to the nearest (depth 1).
    pub(super) fn ground(&self, depth: f32) -> Colour {
        let (scene, palette) = (self.scene, &self.palette);
        let own = EARTHS.into_iter().find(|(sight, ..)| scene.has(*sight));
        let (mut far, mut near) = (palette.far, palette.near);
        if let Some((sight, own_far, own_near)) = own {
            let lit = |colour: Colour, share: f32| {
                let dark = if self.is_night() { 0.62 } else { 1.0 };
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
        mix(far, near, depth)
    }
}

/// Where things stand on the ground.
const GROUND: [Zone; 3] = [Zone::Land, Zone::Half, Zone::Back];

/// Whether something in one of these zones is not carried.
fn stands(scene: &Scene, zones: &[Zone]) -> bool {
    scene.standing().any(|subject| zones.contains(&subject.shape.zone))
}

/// The terrain, and whether there is a lake in it.
fn terrain(scene: &Scene, draw: &mut Draw) -> (Sight, bool) {
    const INSIDE: [Sight; 2] = [Sight::Room, Sight::Table];
    const OUTSIDE: [Sight; 7] = [
        Sight::Studio,
        Sight::Space,
        Sight::City,
        Sight::Neon,
        Sight::Sea,
        Sight::Beach,
        Sight::Forest,
    ];
    let mut possible = INSIDE.iter().filter(|_| !scene.is_outside()).chain(&OUTSIDE);
    let terrain = match possible.find(|sight| scene.has(**sight)) {
        None => Sight::Hills,
        Some(Sight::Neon) => Sight::City,
        Some(Sight::Beach) => Sight::Sea,
        Some(sight) => *sight,
    };
    let by_chance = draw.chance(0.5) && scene.is_bare() && !stands(scene, &GROUND);
    let can_have_lake = matches!(terrain, Sight::Hills | Sight::Forest);
    let has_lake = can_have_lake && (scene.has(Sight::Lake) || by_chance);
    // What floats needs water.
    if terrain == Sight::Hills && stands(scene, &[Zone::Water]) && !has_lake {
        return (Sight::Sea, false);
    }
    (terrain, has_lake)
}

/// The height of the skyline, as a share of the distance to the floor.
fn skyline(scene: &Scene, terrain: Sight, draw: &mut Draw) -> f32 {
    match terrain {
        Sight::City => draw.between(0.66, 0.74),
        Sight::Studio => 0.8,
        Sight::Table => 0.68,
        Sight::Room => 0.7,
        _ if scene.has(Sight::Sky) => draw.between(0.70, 0.76),
        _ => draw.between(0.5, 0.62),
    }
}

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
fn palette_of(scene: &Scene, draw: &mut Draw) -> Palette {
    let suited =
        |sights: &[Sight], time: Time| sights.iter().any(|sight| scene.has(*sight)).then_some(time);
    let time = scene.time.or_else(|| suited(&NIGHTLY, Time::Night));
    let time = time.or_else(|| suited(&DAILY, Time::Day));
    let suits = |palette: &&Palette| match time {
        Some(time) => palette.time == time,
        None => scene.subjects.is_empty() || palette.time != Time::Night,
    };
    let suitable: Vec<_> = PALETTES.iter().filter(suits).copied().collect();
    let mut palette = draw.pick(&suitable);
    let ambient = if palette.time == Time::Night { 0.28 } else { 1.0 };
    let dull = DULL.into_iter().filter(|(sight, ..)| scene.has(*sight));
    let dull = dull.map(|(_, grey, share)| (rgb(grey).map(|part| part * ambient), share));
    let tints =
        TINTS.into_iter().filter_map(|(sight, share)| Some((scene.colour_of(sight)?, share)));
    for (colour, share) in dull.chain(tints).chain(scene.tint.map(|tint| (tint, 0.5))) {
        for part in [&mut palette.zenith, &mut palette.horizon, &mut palette.far] {
            *part = mix(*part, colour, share);
        }
        palette.near = mix(palette.near, colour, share * 0.5);
        palette.light = mix(palette.light, colour, share * 0.3);
    }
    palette
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
