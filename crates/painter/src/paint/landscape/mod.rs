//! The painting: sky, ground, water and weather, and what the prompt shows in them.

mod abstracts;
mod land;
mod places;
mod setting;
mod sky;
mod subjects;

use image::DynamicImage;

use self::setting::Setting;
use super::{
    canvas::{Area, Canvas},
    noise::Draw,
    scene::Scene,
    tables::Sight,
};

/// The background of a portrait is painted smaller by this factor, so that it is out of focus.
const BLUR: u32 = 14;

/// Paints the scene. What it shows is above `floor`; the part below may be covered by a caption.
pub(super) fn paint(canvas: &mut Canvas, scene: &Scene, key: &[u8; 32], floor: f32) {
    let mut draw = Draw::new(key);
    match () {
        () if scene.has(Sight::Badge) => return abstracts::badge(canvas, scene, key, floor),
        () if scene.has(Sight::Swirls) => return abstracts::swirls(canvas, &mut draw, scene),
        () if scene.has(Sight::Pattern) && !scene.subjects.is_empty() => {
            return abstracts::rows(canvas, &mut draw, scene);
        }
        () if scene.has(Sight::Pattern) => return abstracts::forms(canvas, &mut draw, scene),
        () => {}
    }
    let setting = Setting::new(canvas, scene, &mut Draw::new(key), floor);
    if scene.is_portrait() {
        let small = |side: usize| (side as u32).div_ceil(BLUR).max(2);
        let mut ground = Canvas::new((small(canvas.width), small(canvas.height)));
        let distant = Setting::new(&ground, scene, &mut draw, floor / BLUR as f32);
        scenery(&mut ground, &mut draw, &distant);
        let ground = DynamicImage::from(ground.into_image()).fast_blur(1.2).into_rgba8();
        let ground = Canvas::of(&ground);
        let (width, height) = (canvas.width as f32, canvas.height as f32);
        canvas.change(|x, y, _| ground.at((x as f32 + 0.5) / width, (y as f32 + 0.5) / height));
    } else {
        scenery(canvas, &mut draw, &setting);
    }
    subjects::paint(canvas, &mut draw, &setting);
    sky::weather(canvas, &mut draw, &setting);
}

/// Where the torso is in a portrait above `floor`, down to `lower`.
pub(super) fn torso(canvas: &Canvas, floor: f32, lower: i64) -> Area {
    /// From the neck on, and between the shoulders, in heights of the bust.
    const NECK: f32 = 0.75;
    const SHOULDERS: f32 = 1.12;
    let width = canvas.width as f32;
    let (top, tall) = subjects::bust(width, floor);
    let (wide, neck) = (tall * SHOULDERS, top + tall * NECK);
    let (x, y) = (((width - wide) / 2.0) as i64, neck as i64);
    Area { x, y, width: wide as i64, height: (lower - y).max(0) }
}

fn scenery(canvas: &mut Canvas, draw: &mut Draw, setting: &Setting) {
    match setting.terrain {
        Sight::Studio => return places::studio(canvas, setting),
        Sight::Room => return places::room(canvas, draw, setting),
        Sight::Table => places::wall(canvas, draw, setting),
        Sight::Space => sky::space(canvas, draw, setting),
        _ => sky::paint(canvas, draw, setting),
    }
    if setting.scene.has(Sight::Mountains) {
        for depth in [0.0, 0.3] {
            land::mountains(canvas, draw, setting, depth);
        }
    }
    match setting.terrain {
        Sight::City => places::city(canvas, draw, setting),
        Sight::Sea => land::sea(canvas, draw, setting),
        Sight::Space | Sight::Table => {}
        _ => land::near(canvas, draw, setting),
    }
    sky::fog(canvas, setting);
    if setting.has_lake {
        land::lake(canvas, draw, setting);
    }
    if let Some(bank) = &setting.bank {
        land::bank(canvas, draw, setting, bank);
    }
    if setting.has_table() {
        places::table_top(canvas, draw, setting);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{
            prompt::{Meaning, words},
            reader::read,
        },
        *,
    };

    fn painted(prompt: &str, key: u8) -> Vec<u8> {
        let mut canvas = Canvas::new((72, 72));
        paint(&mut canvas, &read(prompt), &[key; 32], 72.0);
        canvas.into_image().into_raw()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn any_prompt_can_be_painted(
            words in prop::collection::vec(
                prop_oneof![
                    8 => prop::sample::select(words().map(|(word, ..)| word).collect::<Vec<_>>()),
                    1 => "\\PC{0,9}",
                ],
                0..9,
            ),
            (width, height) in (1u32..40, 1u32..40),
        ) {
            let scene = read(&words.join(" "));
            let mut canvas = Canvas::new((width, height));
            paint(&mut canvas, &scene, &[7; 32], height as f32 * 0.8);
            let is_finite = |pixel: &[f32; 3]| pixel.iter().all(|part| part.is_finite());
            prop_assert!((0..canvas.height).all(|y| canvas.row(y).iter().all(is_finite)));
        }
    }

    #[test]
    fn each_meaning_changes_the_painting() {
        let mut seen = Vec::new();
        for (word, _, meaning) in words() {
            // All words of a row have the same meaning.
            let row = match meaning {
                Meaning::Shows(shape, colour) => format!("{} {colour:?}", shape.name),
                Meaning::Scenery(sight) => format!("{sight:?}"),
                Meaning::At(time) => format!("{time:?}"),
                Meaning::Colour(hex) => format!("{hex:x}"),
                Meaning::Count(count) => format!("{count}"),
                Meaning::Grammar(_) => continue,
            };
            if seen.contains(&row) {
                continue;
            }
            seen.push(row);
            // The prompt has no other influence here, because the key stays the same.
            let (with, without) = match meaning {
                Meaning::Colour(_) | Meaning::Count(_) => (format!("{word} house"), "house"),
                _ => (word.clone(), ""),
            };
            let changes = (0..6).any(|key| painted(&with, key) != painted(without, key));
            assert!(changes, "{word} changes nothing");
        }
    }
}
