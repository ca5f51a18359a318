//! What a painting shows.

use super::{
    canvas::{Colour, rgb},
    palette::Time,
    shapes::{Shape, Zone},
    tables::Sight,
    vocabulary::Meaning,
};

/// The maximum number of different shapes in a painting.
const MAX_SUBJECTS: usize = 5;

/// The maximum number of words on a label.
const MAX_LABEL: usize = 4;

/// What has a label inside a room or in a studio.
const LABELLED: [&str; 3] = ["poster", "parcel", "plaque"];

/// The places that things have if the prompt names none. The first that a thing has is chosen.
const HOMES: [Sight; 4] = [Sight::Room, Sight::Table, Sight::Studio, Sight::Field];

/// Scenery that says nothing about where things are.
const NOWHERE: [Sight; 4] = [Sight::Portrait, Sight::Badge, Sight::Pattern, Sight::Swirls];

#[derive(Clone, Default)]
pub(super) struct Scene {
    pub(super) time: Option<Time>,
    pub(super) subjects: Vec<Subject>,
    /// A colour without a noun: that of the light.
    pub(super) tint: Option<Colour>,
    /// All colours that the prompt names.
    pub(super) colours: Vec<Colour>,
    /// The name of what has no shape. A labelled object shows it instead.
    pub(super) label: Option<String>,
    sights: Vec<(Sight, Option<Colour>)>,
}

/// A shape in a painting.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    pub(super) shape: &'static Shape,
    pub(super) colour: Colour,
    pub(super) count: usize,
    /// The subject that it sits, lies or rides on.
    pub(super) on: Option<usize>,
}

impl Scene {
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
        self.has(Sight::Portrait) || self.subjects.iter().any(|subject| self.is_bust(subject))
    }

    /// Whether a subject is cropped by the lower edge.
    pub(super) fn is_bust(&self, subject: &Subject) -> bool {
        match subject.shape.zone {
            Zone::Bust => true,
            // With others, people stand behind the lower edge of their shape.
            Zone::Half => {
                let is_worn = |other: &Subject| other.shape.points.worn.is_some();
                let others = self.subjects.iter().filter(|other| !is_worn(other));
                others.count() == 1 && subject.count == 1
            }
            _ => false,
        }
    }

    /// Whether the prompt names no scenery.
    pub(super) fn is_bare(&self) -> bool {
        self.sights.is_empty()
    }

    /// Whether things are outside. A room may have a view.
    pub(super) fn is_outside(&self) -> bool {
        let places = self.sights.iter().map(|(sight, _)| *sight);
        let mut places = places.filter(|sight| !NOWHERE.contains(sight)).peekable();
        places.peek() != Some(&Sight::Room) && places.any(|sight| !HOMES[..3].contains(&sight))
    }

    /// The scene inside a badge. Without a landscape, it is on a plain ground of this colour.
    pub(super) fn in_badge(&self, ground: Colour) -> Self {
        let mut scene = self.clone();
        scene.sights.retain(|(sight, _)| *sight != Sight::Badge);
        if !self.is_outside() {
            scene.sights = vec![(Sight::Studio, Some(ground))];
        }
        scene
    }

    pub(super) fn add(&mut self, meaning: Meaning, colour: Option<Colour>, count: usize) {
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
            self.subjects.push(Subject { shape, colour, count, on: None });
        }
    }

    pub(super) fn show_named(&mut self, name: &str) {
        if let Some(shape) = Shape::named(name) {
            self.show(shape, shape.drawing().colour, 1);
        }
    }

    /// Shows an object with a label: a sign in a landscape, and otherwise a poster or the like.
    pub(super) fn show_label(&mut self, words: &[String]) {
        let label = words.iter().take(MAX_LABEL).map(String::as_str).collect::<Vec<_>>().join(" ");
        let number: usize = label.bytes().map(usize::from).sum();
        let name = if self.is_outside() { "sign" } else { LABELLED[number % LABELLED.len()] };
        self.label = Some(label);
        // It is the main thing, so there is room for it even if there are many others.
        self.subjects.truncate(MAX_SUBJECTS - 1);
        self.show_named(name);
    }

    /// Chooses the place of things that the prompt gives none, and puts small things on furniture.
    pub(super) fn settle(&mut self) {
        let homes: Vec<_> = self.subjects.iter().map(|subject| subject.shape.home).collect();
        // Animals and people are at home everywhere, and in a room if there is furniture.
        let possible = if homes.first() == Some(&None) { &HOMES[..1] } else { &HOMES[..] };
        let is_nowhere = self.sights.iter().all(|(sight, _)| NOWHERE.contains(sight));
        let home = possible.iter().find(|home| homes.contains(&Some(**home)));
        if let Some(home) = home.filter(|_| is_nowhere && !self.is_portrait()) {
            self.sights.push((*home, None));
        }
        let is_furniture = |subject: &Subject| {
            let has_seat = subject.shape.points.seat.is_some();
            has_seat && subject.shape.home == Some(Sight::Room) && subject.on.is_none()
        };
        let furniture = self.subjects.iter().position(is_furniture);
        for subject in &mut self.subjects {
            if let Some(Sight::Table | Sight::Studio) = subject.shape.home {
                subject.on = subject.on.or(furniture);
            }
        }
    }
}
