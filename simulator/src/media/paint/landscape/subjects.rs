//! What the prompt shows: where it stands, floats or flies.

use super::{
    super::{
        canvas::{Canvas, Colour, WHITE, mix, rgb},
        noise::Draw,
        scene::Subject,
        shapes::{Shape, Zone},
        silhouette::{Light, Silhouette},
    },
    brushes::{glow, oval},
    setting::{Setting, Terrain},
};

/// The sizes of one, two, and more of a kind, relative to the shape's own.
const SIZES: [f32; 3] = [1.0, 0.86, 0.72];

/// Things are larger in front of a plain backdrop.
const IN_STUDIO: f32 = 1.6;

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    // From back to front.
    for zone in [Zone::Air, Zone::Back, Zone::Water, Zone::Land, Zone::Bust] {
        let subjects: Vec<_> =
            setting.scene.subjects.iter().filter(|subject| subject.shape.zone == zone).collect();
        let total: usize = subjects.iter().map(|subject| subject.count).sum();
        let mut spots = spots(draw, setting, zone, total).into_iter();
        for subject in subjects {
            for _ in 0..subject.count {
                let Some(x) = spots.next() else { return };
                put(canvas, draw, setting, subject, (x, total));
            }
        }
    }
}

/// The horizontal positions of this many things.
fn spots(draw: &mut Draw, setting: &Setting, zone: Zone, count: usize) -> Vec<f32> {
    let (from, to) = match zone {
        Zone::Bust => (0.5, 0.5),
        _ if setting.terrain == Terrain::Studio => (0.5, 0.5),
        // Opposite the light.
        Zone::Air if setting.light.0 > setting.width / 2.0 => (0.18, 0.42),
        Zone::Air => (0.58, 0.82),
        Zone::Back => (0.22, 0.78),
        Zone::Water => (0.3, 0.7),
        Zone::Land => (0.34, 0.66),
    };
    let is_crowded = setting.scene.subjects.iter().any(|subject| subject.shape.zone != zone);
    if count == 1 && zone == Zone::Back && is_crowded {
        // Beside what is in front.
        let aside = draw.between(0.16, 0.26);
        return vec![setting.width * if draw.chance(0.5) { aside } else { 1.0 - aside }];
    }
    if count == 1 {
        return vec![setting.width * draw.between(from, to)];
    }
    let span = (0.2 * count as f32).min(0.74);
    let step = span / count.max(2).saturating_sub(1) as f32;
    let spot = |number: usize| {
        let wobble = draw.between(-0.18, 0.18) * step;
        setting.width * (0.5 - span / 2.0 + number as f32 * step + wobble)
    };
    (0..count).map(spot).collect()
}

fn put(
    canvas: &mut Canvas,
    draw: &mut Draw,
    setting: &Setting,
    subject: &Subject,
    (x, total): (f32, usize),
) {
    let shape = subject.shape;
    let tall = height(draw, setting, shape, total);
    let half = tall * shape.wide() / 200.0;
    let x = x.clamp(half.min(setting.width / 2.0), (setting.width - half).max(setting.width / 2.0));
    let is_flipped = shape.zone != Zone::Bust && draw.chance(0.5);
    let foot = foot(draw, setting, shape.zone, x, tall);
    let light = light(setting, shape.zone);
    let silhouette =
        Silhouette { shape, colour: subject.colour, at: (x, foot), tall, is_flipped, light };
    match shape.zone {
        Zone::Land | Zone::Back => shadow(canvas, setting, &silhouette),
        Zone::Water => reflection(canvas, draw, setting, &silhouette),
        Zone::Air | Zone::Bust => {}
    }
    for (lamp, reach) in silhouette.paint(canvas) {
        if light.has_lamps {
            glow(canvas, lamp, reach, rgb(0xffc86a), 0.3);
        }
    }
}

/// The height of one of `total` things.
fn height(draw: &mut Draw, setting: &Setting, shape: &Shape, total: usize) -> f32 {
    if shape.zone == Zone::Bust {
        return bust(setting.width, setting.floor).1;
    }
    if setting.scene.is_portrait() && shape.zone == Zone::Land {
        // As tall as the picture allows.
        return (setting.floor * 0.84).min(setting.width * 0.98 / shape.wide() * 100.0);
    }
    let size = SIZES.get(total.saturating_sub(1)).or(SIZES.last()).copied().unwrap_or(1.0);
    let wobble = if total > 1 { draw.between(0.85, 1.1) } else { 1.0 };
    let studio = if setting.terrain == Terrain::Studio { IN_STUDIO } else { 1.0 };
    let most = (setting.floor * 0.8).min(setting.width * 0.9 / shape.wide() * 100.0);
    (setting.short * shape.height * size * wobble * studio).min(most)
}

fn light(setting: &Setting, zone: Zone) -> Light {
    let haze = match zone {
        Zone::Air | Zone::Water => Some((setting.palette.horizon, 0.1)),
        Zone::Back => Some((setting.palette.horizon, 0.06)),
        Zone::Land | Zone::Bust => None,
    };
    let has_lamps = setting.palette.is_dusky();
    Light { ambient: ambient(setting, zone), has_lamps, haze }
}

/// A face is lit a little better than the rest.
fn ambient(setting: &Setting, zone: Zone) -> Colour {
    let ambient = setting.palette.time.ambient();
    if zone == Zone::Bust { mix(ambient, WHITE, 0.45) } else { ambient }
}

/// The top and the height of a bust, which leave room for the upper part of the body.
pub(super) fn bust(width: f32, floor: f32) -> (f32, f32) {
    let tall = (floor * 0.72).min(width * 0.8);
    ((floor * 0.06).max(floor * 0.5 - tall * 0.6), tall)
}

/// The height at which a shape stands, floats or flies.
fn foot(draw: &mut Draw, setting: &Setting, zone: Zone, x: f32, tall: f32) -> f32 {
    let (floor, short) = (setting.floor, setting.short);
    match zone {
        Zone::Bust => bust(setting.width, floor).0 + tall,
        Zone::Land | Zone::Back if setting.terrain == Terrain::Studio => {
            ((floor + tall) * 0.5).min(floor * 0.95).max(setting.skyline + short * 0.06)
        }
        Zone::Back => {
            let bank = setting.bank.as_ref().and_then(|bank| bank.get(x.max(0.0) as usize));
            bank.map_or(floor * 0.86, |top| top + short * 0.02)
        }
        Zone::Land => floor * draw.between(0.955, 0.985),
        Zone::Water => {
            let lower = if setting.bank.is_some() { floor * 0.83 } else { floor };
            let at = setting.shore + (lower - setting.shore) * draw.between(0.34, 0.6);
            at.max(tall + short * 0.02)
        }
        Zone::Air => {
            let top = draw.between(0.08, 0.3) * setting.skyline;
            (top + tall).min(floor * 0.9).max(tall + short * 0.03)
        }
    }
}

/// A soft shadow on the ground, away from the light.
fn shadow(canvas: &mut Canvas, setting: &Setting, silhouette: &Silhouette) {
    let half = silhouette.tall * silhouette.shape.wide() / 200.0;
    let aside = ((silhouette.at.0 - setting.light.0) / setting.width).clamp(-1.0, 1.0);
    let dark = mix(setting.ground(1.0), rgb(0x141828), 0.75);
    let (rings, x) = (26, silhouette.at.0 + aside * half * 0.4);
    for ring in 1..=rings {
        let size = half * (0.55 + 0.62 * ring as f32 / rings as f32);
        oval(canvas, (x, silhouette.at.1 - half * 0.02), (size, size * 0.12), dark, 0.025);
    }
}

/// The mirror image in the water, and ripples at the waterline.
fn reflection(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, silhouette: &Silhouette) {
    let (x, y) = silhouette.at;
    silhouette.reflect(canvas, 0.3);
    let half = silhouette.tall * silhouette.shape.wide() / 200.0;
    let light = mix(setting.palette.horizon, WHITE, 0.4);
    for _ in 0..26 {
        let down = draw.unit();
        let row = y + silhouette.tall * 0.6 * down * down;
        let middle = x + half * draw.between(-0.9, 0.9);
        let reach = half * draw.between(0.08, 0.4);
        canvas.blend_span(row as i64, middle - reach, middle + reach, light, 0.22 * (1.0 - down));
    }
}
