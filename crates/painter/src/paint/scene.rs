//! What a painting shows.

use super::{
    canvas::Colour,
    palette::Time,
    prompt::Meaning,
    shapes::{Shape, Zone},
    tables::{Grammar, Sight},
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
    pub(super) place: Place,
    /// The number of the subject that carries it.
    pub(super) carrier: Option<usize>,
}

/// Where a subject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where its shape belongs.
    Ground,
    /// On the ground in front, in a row with what it is beside.
    Beside,
    /// From one bank of the water to the other.
    Across,
    /// On, in or held by its carrier, or worn by it.
    On,
    In,
    Held,
    Worn,
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
        self.has(Sight::Portrait)
            || self.subjects.iter().any(|subject| self.zone_of(subject) == Zone::Bust)
    }

    /// The part of a painting that a subject is in. What has a place beside others stands with
    /// them.
    pub(super) fn zone_of(&self, subject: &Subject) -> Zone {
        // Half a person is cropped by the lower edge only if nothing else is in the picture.
        let is_alone = self.standing().count() == 1 && subject.count == 1;
        match (subject.shape.zone, subject.place) {
            (Zone::Half, Place::Ground) if is_alone => Zone::Bust,
            (Zone::Half, _) | (Zone::Back, Place::Beside) => Zone::Land,
            (Zone::Back, Place::Across) => Zone::Water,
            (zone, _) => zone,
        }
    }

    /// The subjects that no other one carries.
    pub(super) fn standing(&self) -> impl Iterator<Item = &Subject> {
        self.subjects.iter().filter(|subject| subject.carrier.is_none())
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

    /// Adds a time of day or a part of the scenery.
    pub(super) fn add(&mut self, meaning: Meaning, colour: Option<Colour>) {
        match meaning {
            Meaning::At(time) => {
                self.time.get_or_insert(time);
                self.tint = self.tint.or(colour);
            }
            Meaning::Scenery(sight) if !self.has(sight) => self.sights.push((sight, colour)),
            _ => {}
        }
    }

    /// Shows a shape if it is new and there is room. Returns whether it is shown.
    pub(super) fn show(&mut self, shape: &'static Shape, colour: Colour, count: usize) -> bool {
        let is_new = |subject: &Subject| !std::ptr::eq(subject.shape, shape);
        let is_shown = self.subjects.len() < MAX_SUBJECTS && self.subjects.iter().all(is_new);
        if is_shown {
            let (place, carrier) = (Place::Ground, None);
            self.subjects.push(Subject { shape, colour, count, place, carrier });
        }
        is_shown
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
        // Nothing may cover the label.
        self.relate(Grammar::Beside);
    }

    /// Places the subjects that have no place yet by their relation to the last one.
    pub(super) fn relate(&mut self, relation: Grammar) {
        let Some((last, before)) = self.subjects.split_last_mut() else { return };
        let (number, base, count) = (before.len(), last.shape, last.count);
        let is_small = matches!(base.home, Some(Sight::Studio | Sight::Table));
        let is_open = base.points.rim.is_some();
        let is_person = |shape: &Shape| matches!(shape.zone, Zone::Bust | Zone::Half);
        let free = before.iter_mut().filter(|subject| subject.place == Place::Ground);
        for subject in free {
            let fits = is_open || !is_small || !is_person(subject.shape);
            subject.place = match relation {
                Grammar::Beside => Place::Beside,
                Grammar::Crossing if subject.shape.zone == Zone::Air => continue,
                Grammar::On | Grammar::Crossing if fits => Place::On,
                Grammar::In if base.points.seat.is_some() => Place::On,
                Grammar::In if base.zone == Zone::Back || base.points.worn.is_some() => continue,
                Grammar::In if fits && count == 1 => Place::In,
                _ => continue,
            };
            subject.carrier = (relation != Grammar::Beside).then_some(number);
        }
        match (relation, before.iter().rposition(|subject| subject.shape.points.worn.is_none())) {
            (Grammar::Beside, Some(_)) => last.place = Place::Beside,
            (Grammar::Holding, holder @ Some(_)) => {
                (last.place, last.carrier) = (Place::Held, holder);
            }
            _ => {}
        }
    }

    /// Hats and glasses are worn: by the first with a known head, or else the first living thing.
    fn dress(&mut self) {
        let subjects = &self.subjects;
        let is_alive =
            |subject: &Subject| subject.shape.home.is_none() && subject.shape.zone != Zone::Back;
        let known = subjects.iter().position(|subject| subject.shape.points.head.is_some());
        let Some(wearer) = known.or_else(|| subjects.iter().position(is_alive)) else { return };
        for number in 0..self.subjects.len() {
            let has_load = self.subjects.iter().any(|subject| subject.carrier == Some(number));
            let subject = &mut self.subjects[number];
            let is_free = number != wearer && !has_load && subject.place != Place::Held;
            if is_free && subject.shape.points.worn.is_some() {
                (subject.place, subject.carrier) = (Place::Worn, Some(wearer));
            }
        }
    }

    /// Chooses the place of things that the prompt gives none, and puts small things on furniture.
    pub(super) fn settle(&mut self) {
        self.dress();
        for subject in &mut self.subjects {
            // A large face cannot be placed, so a person takes its place.
            if subject.shape.zone == Zone::Bust
                && subject.place != Place::Ground
                && let Some(person) = Shape::named("person")
            {
                let own = subject.shape.drawing().colour == subject.colour;
                subject.colour = if own { person.drawing().colour } else { subject.colour };
                subject.shape = person;
            }
        }
        let homes: Vec<_> = self.standing().map(|subject| subject.shape.home).collect();
        // Animals and people are at home everywhere, and in a room if there is furniture.
        let possible = if homes.first() == Some(&None) { &HOMES[..1] } else { &HOMES[..] };
        let is_nowhere = self.sights.iter().all(|(sight, _)| NOWHERE.contains(sight));
        let home = possible.iter().find(|home| homes.contains(&Some(**home)));
        if let Some(home) = home.filter(|_| is_nowhere && !self.is_portrait()) {
            self.sights.push((*home, None));
        }
        let is_furniture = |subject: &Subject| {
            let has_seat = subject.shape.points.seat.is_some();
            has_seat && subject.shape.home == Some(Sight::Room) && subject.place == Place::Ground
        };
        let furniture = self.subjects.iter().position(is_furniture);
        for subject in self.subjects.iter_mut().filter(|subject| subject.place == Place::Ground) {
            if let (Some(Sight::Table | Sight::Studio), Some(_)) = (subject.shape.home, furniture) {
                (subject.place, subject.carrier) = (Place::On, furniture);
            }
        }
    }
}
