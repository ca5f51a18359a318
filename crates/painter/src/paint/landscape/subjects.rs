//! What the prompt shows: where it stands, floats or flies, and what it wears or rides on.

use super::setting::Setting;
use crate::paint::{
    canvas::{Canvas, WHITE, mix, rgb},
    noise::Draw,
    scene::{Place, Scene, Subject},
    shapes::Zone,
    silhouette::{Light, Silhouette},
    tables::Sight,
};

/// The sizes of one, two, and more of a kind, relative to the shape's own.
const SIZES: [f32; 3] = [1.0, 0.86, 0.72];

/// The number of a subject, its horizontal position, and its height.
type Spot = (usize, f32, f32);

/// From back to front.
const ZONES: [Zone; 5] = [Zone::Air, Zone::Back, Zone::Water, Zone::Land, Zone::Bust];

pub(super) fn paint(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    for zone in ZONES {
        let is_here =
            |subject: &Subject| subject.carrier.is_none() && setting.scene.zone_of(subject) == zone;
        let spots = match *numbered(setting.scene, is_here) {
            [single] => vec![(single, across(draw, setting, single), height(setting, single, 1.0))],
            ref several => spots(draw, setting, several),
        };
        for spot in spots {
            put(canvas, draw, setting, spot);
        }
    }
}

/// The numbers of some subjects, each as often as it is shown.
fn numbered(scene: &Scene, is_one: impl Fn(&Subject) -> bool) -> Vec<usize> {
    let subjects = scene.subjects.iter().enumerate().filter(|(_, subject)| is_one(subject));
    subjects.flat_map(|(index, subject)| vec![index; subject.count]).collect()
}

/// The horizontal position of a single thing.
fn across(draw: &mut Draw, setting: &Setting, index: usize) -> f32 {
    let subject = &setting.scene.subjects[index];
    if subject.place == Place::Across {
        return setting.width / 2.0;
    }
    let zone = setting.scene.zone_of(subject);
    let is_crowded = setting.scene.standing().any(|subject| subject.shape.zone != zone);
    let (from, to) = match zone {
        // Beside what is in front.
        Zone::Back if is_crowded => (0.16, 0.26),
        Zone::Bust => (0.5, 0.5),
        _ if setting.is_inside() => (0.5, 0.5),
        // Opposite the light.
        Zone::Air if setting.light.0 > setting.width / 2.0 => (0.18, 0.42),
        Zone::Air => (0.58, 0.82),
        Zone::Back => (0.22, 0.78),
        Zone::Water => (0.3, 0.7),
        Zone::Land | Zone::Half => (0.34, 0.66),
    };
    let across = draw.between(from, to);
    let is_mirrored = zone == Zone::Back && is_crowded && !draw.chance(0.5);
    setting.width * if is_mirrored { 1.0 - across } else { across }
}

/// The horizontal positions and the heights of several things, side by side.
fn spots(draw: &mut Draw, setting: &Setting, all: &[usize]) -> Vec<Spot> {
    let size = SIZES.get(all.len().saturating_sub(1)).or(SIZES.last()).copied().unwrap_or(1.0);
    let mut tall = |index: usize| height(setting, index, size) * draw.between(0.9, 1.05);
    let mut spots: Vec<Spot> = all.iter().map(|index| (*index, 0.0, tall(*index))).collect();
    let wide = |index: usize, tall: f32| setting.scene.subjects[index].shape.wide() * tall / 100.0;
    let gap = setting.width * 0.03;
    let gaps = gap * all.len().saturating_sub(1) as f32;
    let total: f32 = spots.iter().map(|(index, _, tall)| wide(*index, *tall)).sum();
    let scale = ((setting.width * 0.94 - gaps) / total).clamp(0.05, 1.0);
    let mut x = (setting.width - total * scale - gaps) / 2.0;
    for (index, at, tall) in &mut spots {
        *tall *= scale;
        let wide = wide(*index, *tall);
        *at = x + wide / 2.0 + draw.between(-0.3, 0.3) * gap;
        x += wide + gap;
    }
    spots
}

/// Paints a thing with what it carries, and its shadow or its reflection.
fn put(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting, (index, x, tall): Spot) {
    let subject = &setting.scene.subjects[index];
    let (shape, zone) = (subject.shape, setting.scene.zone_of(subject));
    let half = tall * shape.wide() / 200.0;
    let x = x.clamp(half.min(setting.width / 2.0), (setting.width - half).max(setting.width / 2.0));
    let has_label = shape.drawing().label.is_some();
    let is_flipped = zone != Zone::Bust && draw.chance(0.5) && !has_label;
    let foot = foot(canvas, draw, setting, (index, x, tall));
    let light = light(setting, zone);
    let plain = Silhouette::new(shape, subject.colour, (x, foot), tall);
    let silhouette = Silhouette { is_flipped, light, ..plain };
    match zone {
        Zone::Land | Zone::Back => shadow(canvas, setting, &silhouette),
        Zone::Water => reflection(canvas, setting, &silhouette),
        Zone::Air | Zone::Bust | Zone::Half => {}
    }
    paint_with_load(canvas, setting, index, &silhouette);
}

/// Paints a thing with what is on it, and with what it wears.
fn paint_with_load(canvas: &mut Canvas, setting: &Setting, index: usize, silhouette: &Silhouette) {
    let scene = setting.scene;
    let is_saddle = silhouette.shape.points.is_saddle;
    let paint_loads = |canvas: &mut Canvas, are_behind: bool| {
        let loads = numbered(scene, |subject| {
            let is_behind = is_saddle && subject.place == Place::On;
            subject.carrier == Some(index) && is_behind == are_behind
        });
        for (number, load) in loads.iter().enumerate() {
            let aside = (number as f32 + 0.5) / loads.len() as f32 - 0.5;
            let loaded = silhouette.loaded(&scene.subjects[*load], aside);
            paint_with_load(canvas, setting, *load, &loaded);
        }
    };
    paint_loads(canvas, true);
    for (lamp, reach) in silhouette.paint(canvas) {
        canvas.glow(lamp, reach, rgb(0xffc86a), 0.3);
    }
    if let Some(text) = &scene.label {
        silhouette.write(canvas, text);
    }
    paint_loads(canvas, false);
}

/// The height of a thing that has `size` of its usual size.
fn height(setting: &Setting, index: usize, size: f32) -> f32 {
    let subject = &setting.scene.subjects[index];
    let (shape, floor) = (subject.shape, setting.floor);
    let as_wide_as = |share: f32| setting.width * share / shape.wide() * 100.0;
    match setting.scene.zone_of(subject) {
        _ if subject.place == Place::Across => as_wide_as(0.92).min(floor * 0.7),
        Zone::Bust if shape.zone == Zone::Half => as_wide_as(0.9).min(floor * 0.86),
        Zone::Bust => bust(setting.width, floor).1,
        // As tall as the picture allows.
        Zone::Land if setting.scene.is_portrait() => as_wide_as(0.98).min(floor * 0.84 * size),
        _ => {
            let most = as_wide_as(0.9).min(floor * 0.8 / stack(setting.scene, index));
            (setting.short * shape.height * size * setting.scale()).min(most)
        }
    }
}

/// How much higher a thing is with what it carries.
fn stack(scene: &Scene, index: usize) -> f32 {
    let Subject { shape, colour, .. } = scene.subjects[index];
    let carrier = Silhouette::new(shape, colour, (0.0, 0.0), 100.0);
    let loads = scene.subjects.iter().filter(|load| load.carrier == Some(index));
    let tops = loads.map(|load| carrier.loaded(load, 0.0)).map(|load| load.tall - load.at.1);
    tops.fold(100.0, f32::max) / 100.0
}

fn light(setting: &Setting, zone: Zone) -> Light {
    let far = match zone {
        _ if setting.is_inside() => 0.0,
        Zone::Air | Zone::Water => 0.1,
        Zone::Back => 0.06,
        Zone::Land | Zone::Bust | Zone::Half => 0.0,
    };
    let ambient = setting.palette.time.ambient();
    Light {
        // A face is lit a little better than the rest.
        ambient: if zone == Zone::Bust { mix(ambient, WHITE, 0.45) } else { ambient },
        has_lamps: setting.palette.is_dusky(),
        haze: (setting.palette.horizon, far),
    }
}

/// The top and the height of a bust, which leave room for the upper part of the body.
pub(super) fn bust(width: f32, floor: f32) -> (f32, f32) {
    let tall = (floor * 0.72).min(width * 0.8);
    ((floor * 0.06).max(floor * 0.5 - tall * 0.6), tall)
}

/// The height at which a shape stands, floats or flies.
fn foot(canvas: &Canvas, draw: &mut Draw, setting: &Setting, (index, x, tall): Spot) -> f32 {
    let (floor, short) = (setting.floor, setting.short);
    let subject = &setting.scene.subjects[index];
    let whole = tall * stack(setting.scene, index);
    let stands = |low: f32| ((floor + whole) * 0.5).min(floor * 0.95).max(low);
    match setting.scene.zone_of(subject) {
        // The shape ends at the lower edge.
        Zone::Bust if subject.shape.zone == Zone::Half => {
            (floor * 0.12 + tall).max(canvas.height as f32).min(floor * 0.3 + tall)
        }
        Zone::Bust => bust(setting.width, floor).0 + tall,
        Zone::Air if setting.is_inside() => (floor + tall) * 0.5,
        Zone::Land | Zone::Back if setting.terrain == Sight::Studio => {
            stands(setting.skyline + short * 0.06)
        }
        Zone::Land | Zone::Back if setting.has_table() => {
            stands(setting.table_edge() + short * 0.07)
        }
        Zone::Back if setting.terrain == Sight::Room => {
            (setting.skyline + short * 0.04).max(whole + short * 0.02)
        }
        Zone::Back => {
            let bank = setting.bank.as_ref().and_then(|bank| bank.get(x.max(0.0) as usize));
            bank.map_or(floor * 0.86, |top| top + short * 0.02)
        }
        Zone::Land | Zone::Half => floor * draw.between(0.955, 0.985),
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
        canvas.oval((x, silhouette.at.1 - half * 0.02), (size, size * 0.12), dark, 0.025);
    }
}

/// The mirror image in the water, down to the bank.
fn reflection(canvas: &mut Canvas, setting: &Setting, silhouette: &Silhouette) {
    let bank = setting.bank.as_deref().unwrap_or_default();
    let land = |x: i64| usize::try_from(x).ok().and_then(|x| bank.get(x)).copied();
    silhouette.reflect(canvas, |x, y| land(x).is_none_or(|top| (y as f32) < top));
}
