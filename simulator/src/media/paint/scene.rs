//! Reads a prompt: what its painting shows.

use super::{
    canvas::{Colour, rgb},
    palette::Time,
    shapes::{Shape, Zone},
    vocabulary::{Grammar, Language, Meaning, Sight, meaning as known},
};

/// A colour or number applies to the next known noun among this many words.
const REACH: usize = 4;

/// The maximum number of different shapes in a painting.
const MAX_SUBJECTS: usize = 4;

/// The number shown for a plural without a number.
const SEVERAL: usize = 3;

/// What a painting shows.
#[derive(Clone, Default)]
pub(super) struct Scene {
    pub(super) time: Option<Time>,
    pub(super) subjects: Vec<Subject>,
    /// A colour without a noun: that of the light.
    pub(super) tint: Option<Colour>,
    sights: Vec<(Sight, Option<Colour>)>,
}

/// A shape in a painting.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    pub(super) shape: &'static Shape,
    pub(super) colour: Colour,
    pub(super) count: usize,
}

/// What the next noun will have.
#[derive(Default)]
struct Adjectives {
    colour: Option<Colour>,
    count: Option<usize>,
    is_negated: bool,
    /// The number of words since the last adjective.
    age: usize,
}

impl Scene {
    pub(super) fn of(prompt: &str) -> Self {
        let mut scene = Self::default();
        for clause in prompt.to_lowercase().split([',', '.', ';', ':', '!', '?', '\n']) {
            let mut adjectives = Adjectives::default();
            for word in clause.split(|letter: char| !letter.is_alphanumeric()) {
                if !word.is_empty() {
                    scene.read(word, &mut adjectives);
                }
            }
            scene.leave(adjectives);
        }
        if scene.has(Sight::Portrait)
            && scene.subjects.is_empty()
            && let Some(woman) = Shape::named("woman")
        {
            scene.show(woman, woman.drawing().colour, 1);
        }
        scene
    }

    /// Whether this is part of the scenery.
    pub(super) fn has(&self, sight: Sight) -> bool {
        self.sights.iter().any(|(known, _)| *known == sight)
    }

    /// The colour that the prompt gives to a part of the scenery.
    pub(super) fn colour_of(&self, sight: Sight) -> Option<Colour> {
        self.sights.iter().find(|(known, _)| *known == sight).and_then(|(_, colour)| *colour)
    }

    /// Whether a face is large in front of a background out of focus.
    pub(super) fn is_portrait(&self) -> bool {
        let is_bust = |subject: &Subject| subject.shape.zone == Zone::Bust;
        self.has(Sight::Portrait) || self.subjects.iter().any(is_bust)
    }

    /// Whether the prompt names no scenery.
    pub(super) fn is_bare(&self) -> bool {
        self.sights.is_empty()
    }

    fn read(&mut self, word: &str, adjectives: &mut Adjectives) {
        adjectives.age += 1;
        if adjectives.age > REACH {
            self.leave(std::mem::take(adjectives));
        }
        let Some((meaning, is_plural)) = meaning(word) else { return };
        match meaning {
            Meaning::Colour(hex) => {
                (adjectives.colour, adjectives.age) = (Some(rgb(hex)), 0);
                return;
            }
            Meaning::Count(count) => {
                (adjectives.count, adjectives.age) = (Some(count), 0);
                return;
            }
            Meaning::Grammar(Grammar::Not) => {
                *adjectives = Adjectives { is_negated: true, ..Adjectives::default() };
                return;
            }
            _ => {}
        }
        let Adjectives { colour, count, is_negated, .. } = std::mem::take(adjectives);
        if !is_negated {
            let count = count.unwrap_or(if is_plural { SEVERAL } else { 1 });
            self.add(meaning, colour, count);
        }
    }

    fn add(&mut self, meaning: Meaning, colour: Option<Colour>, count: usize) {
        match meaning {
            Meaning::At(time) => {
                self.time.get_or_insert(time);
                self.tint = self.tint.or(colour);
            }
            Meaning::Scenery(sight) if !self.has(sight) => self.sights.push((sight, colour)),
            Meaning::Shows(shape, own) => {
                let own = own.map_or(shape.drawing().colour, rgb);
                self.show(shape, colour.unwrap_or(own), count);
            }
            _ => {}
        }
    }

    fn show(&mut self, shape: &'static Shape, colour: Colour, count: usize) {
        let is_new = |subject: &Subject| !std::ptr::eq(subject.shape, shape);
        if self.subjects.len() < MAX_SUBJECTS && self.subjects.iter().all(is_new) {
            self.subjects.push(Subject { shape, colour, count });
        }
    }

    /// A colour without a noun colours the light.
    fn leave(&mut self, adjectives: Adjectives) {
        self.tint = self.tint.or(adjectives.colour);
    }
}

/// The meaning of a word, and whether it is in the plural.
fn meaning(word: &str) -> Option<(Meaning, bool)> {
    let known = |singular: &str| known(singular, Language::English);
    if let Some(meaning) = known(word) {
        return Some((meaning, false));
    }
    let of_y = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
    let singulars = [word.strip_suffix('s'), word.strip_suffix("es"), of_y.as_deref()];
    singulars.into_iter().flatten().find_map(known).map(|meaning| (meaning, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares what a prompt shows. Without a colour, a shape has its own.
    #[track_caller]
    fn check(prompt: &str, expected: &[(&str, Option<u32>, usize)]) {
        let subjects = Scene::of(prompt).subjects;
        let shown: Vec<_> = subjects
            .iter()
            .map(|subject| (subject.shape.name, subject.colour, subject.count))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, colour, count)| {
                let own = || Shape::named(name).unwrap().drawing().colour;
                (*name, colour.map_or_else(own, rgb), *count)
            })
            .collect();
        assert_eq!(shown, expected, "{prompt}");
    }

    #[test]
    fn colours_and_numbers_apply_to_the_next_noun() {
        let (red, blue) = (Some(0xcf3a2b), Some(0x2f6fc4));
        check("A red fox in the snow", &[("fox", red, 1)]);
        check("a fox, red", &[("fox", None, 1)]);
        check("a blue boat and a fox", &[("boat", blue, 1), ("fox", None, 1)]);
        check("three very old blue boats", &[("boat", blue, 3)]);
        check("foxes", &[("fox", None, SEVERAL)]);
        check("a red sunset over boats", &[("boat", None, SEVERAL)]);
        assert_eq!(Scene::of("everything in blue").tint, Some(rgb(0x2f6fc4)));
        assert_eq!(Scene::of("a green field").colour_of(Sight::Field), Some(rgb(0x3f9a4f)));
    }

    #[test]
    fn what_is_negated_or_unknown_is_not_shown() {
        check("a meadow without a fox", &[]);
        check("no people, two cats", &[("cat", None, 2)]);
        check("the foxtrot, a catalogue and dogma", &[]);
        assert!(!Scene::of("a beach, no rain").has(Sight::Rain));
    }
}
