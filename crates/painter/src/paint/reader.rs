//! Reads a prompt.

use super::{
    canvas::{Colour, rgb},
    prompt::{Meaning, Term, terms},
    scene::{Place, Scene},
    shapes::Zone,
    tables::{Grammar, Language, Sight},
};

/// A colour or number applies to the next known noun among this many words.
const REACH: usize = 4;

/// The number shown for a plural without a number.
const SEVERAL: usize = 3;

/// The scene that a prompt describes.
pub(super) fn read(prompt: &str) -> Scene {
    let (clauses, language) = terms(prompt);
    let mut reader = Reader { language, ..Reader::default() };
    for clause in clauses {
        for term in clause {
            reader.read_term(&term);
        }
        reader.leave_adjectives();
        (reader.last, reader.relation) = (None, None);
        reader.head.is_over |= !reader.head.unknown.is_empty();
    }
    let Reader { mut scene, head, .. } = reader;
    // Without an article, unknown words may be adjectives of what is known.
    let is_empty = scene.subjects.is_empty() && scene.is_bare();
    let indoors = [Sight::Studio, Sight::Table, Sight::Badge];
    let is_vacant = scene.subjects.is_empty() && indoors.iter().any(|sight| scene.has(*sight));
    if !head.unknown.is_empty() && (head.has_article || is_empty) {
        scene.show_label(&head.unknown);
    } else if is_vacant && !scene.is_outside() {
        scene.show_label(&prompt.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    } else if scene.has(Sight::Portrait) && scene.subjects.is_empty() {
        scene.show_named("woman");
    }
    scene.settle();
    scene
}

#[derive(Default)]
struct Reader {
    scene: Scene,
    language: Option<Language>,
    adjectives: Adjectives,
    head: Head,
    /// The term before, if it was a noun that is shown.
    last: Option<Last>,
    /// What the next noun is to the subjects before it.
    relation: Option<Grammar>,
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

/// The first noun of the prompt with its adjectives.
#[derive(Default)]
struct Head {
    has_article: bool,
    unknown: Vec<String>,
    is_over: bool,
}

#[derive(Clone, Copy)]
struct Last {
    /// Whether it may only describe the next noun.
    is_attribute: bool,
    /// Whether it holds the next noun: a bowl of soup.
    is_holder: bool,
}

impl Reader {
    fn read_term(&mut self, term: &Term) {
        self.adjectives.age += 1;
        if self.adjectives.age > REACH {
            self.leave_adjectives();
        }
        self.head.read(term);
        let last = self.last.take();
        match term.meaning {
            Some(Meaning::Colour(hex)) => self.colour(rgb(hex), last),
            Some(Meaning::Count(count)) => {
                (self.adjectives.count, self.adjectives.age) = (Some(count), 0);
            }
            Some(Meaning::Grammar(grammar)) => self.relate(grammar, last),
            Some(noun) => self.noun(noun, term.is_plural, last),
            None => self.last = last.filter(|last| last.is_holder),
        }
    }

    fn colour(&mut self, colour: Colour, last: Option<Last>) {
        self.scene.colours.push(colour);
        // In Spanish, a colour comes after its noun.
        let noun = last.filter(|_| self.language == Some(Language::Spanish));
        match self.scene.subjects.last_mut() {
            Some(subject) if noun.is_some() => subject.colour = colour,
            _ => (self.adjectives.colour, self.adjectives.age) = (Some(colour), 0),
        }
        self.last = last.filter(|last| last.is_holder);
    }

    fn relate(&mut self, grammar: Grammar, last: Option<Last>) {
        match grammar {
            Grammar::Not => {
                self.adjectives = Adjectives { is_negated: true, ..Adjectives::default() };
            }
            Grammar::Break => self.relation = None,
            Grammar::Of | Grammar::Article | Grammar::Vague => {
                self.last = last.filter(|last| last.is_holder);
            }
            relation => self.relation = Some(relation),
        }
    }

    fn noun(&mut self, noun: Meaning, is_plural: bool, last: Option<Last>) {
        let Adjectives { mut colour, count, is_negated, .. } = std::mem::take(&mut self.adjectives);
        let relation = self.relation.take();
        if is_negated {
            return;
        }
        let Meaning::Shows(shape, own) = noun else {
            // Bridges lead over water.
            if let (Some(Grammar::Crossing), Meaning::Scenery(Sight::Lake | Sight::Sea)) =
                (relation, noun)
                && let Some(bridge) = self.scene.subjects.last_mut()
                && bridge.shape.zone == Zone::Back
            {
                bridge.place = Place::Across;
            }
            return self.scene.add(noun, colour);
        };
        // A bowl of soup shows a soup, and a chocolate cake a cake.
        let is_compound = matches!(self.language, Some(Language::English) | None);
        if last.is_some_and(|last| last.is_holder || is_compound && last.is_attribute)
            && let Some(dropped) = self.scene.subjects.pop()
        {
            let own = dropped.shape.drawing().colour;
            colour = colour.or(Some(dropped.colour).filter(|colour| *colour != own));
        }
        let colour = colour.or(own.map(rgb)).unwrap_or(shape.drawing().colour);
        if !self.scene.show(shape, colour, count.unwrap_or(if is_plural { SEVERAL } else { 1 })) {
            return;
        }
        let is_attribute = !is_plural && shape.points.worn.is_none();
        self.last = Some(Last { is_attribute, is_holder: shape.points.is_holder });
        if let Some(relation) = relation {
            self.scene.relate(relation);
        }
    }

    /// A colour without a noun colours the light.
    fn leave_adjectives(&mut self) {
        let adjectives = std::mem::take(&mut self.adjectives);
        self.scene.tint = self.scene.tint.or(adjectives.colour);
    }
}

impl Head {
    fn read(&mut self, term: &Term) {
        match term.meaning {
            _ if self.is_over => {}
            // A Latin letter is not a noun.
            None if term.text.len() == 1 => {}
            None if self.unknown.is_empty() || !term.text.ends_with("ing") => {
                self.unknown.push(term.text.clone());
            }
            Some(Meaning::Grammar(Grammar::Article)) if self.unknown.is_empty() => {
                self.has_article = true;
            }
            // What it is a logo of follows.
            Some(Meaning::Grammar(Grammar::Vague) | Meaning::Scenery(Sight::Badge)) => {
                self.unknown.clear();
            }
            // The noun has a shape, or is part of the scenery.
            Some(Meaning::Shows(..) | Meaning::Scenery(_) | Meaning::At(_)) => {
                self.unknown.clear();
                self.is_over = true;
            }
            Some(Meaning::Colour(_) | Meaning::Count(_)) => {}
            _ => self.is_over = !self.unknown.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{scene::Subject, shapes::Shape},
        *,
    };

    /// Compares what a prompt shows. Without a colour, a shape has its own.
    #[track_caller]
    fn check(prompt: &str, expected: &[(&str, Option<u32>, usize)]) {
        let subjects = read(prompt).subjects;
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
        assert_eq!(read("everything in blue").tint, Some(rgb(0x2f6fc4)));
        assert_eq!(read("a green field").colour_of(Sight::Field), Some(rgb(0x3f9a4f)));
    }

    #[test]
    fn what_is_negated_or_unknown_is_not_shown() {
        check("a meadow without a fox", &[]);
        check("no people, two cats", &[("cat", None, 2)]);
        check("more foxtrot on the beach", &[]);
        assert!(!read("a beach, no rain").has(Sight::Rain));
    }

    #[test]
    fn what_has_no_shape_is_named_on_a_label() {
        for (prompt, label) in [
            ("a shiny gizmo on a beach", "shiny gizmo"),
            ("logo of the Zorgle Company", "zorgle company"),
            ("ein Dingsbums am Strand", "dingsbums"),
            ("quokka", "quokka"),
        ] {
            let scene = read(prompt);
            assert_eq!(scene.label.as_deref(), Some(label), "{prompt}");
            let has_label = |shown: &Subject| shown.shape.drawing().label.is_some();
            assert!(scene.subjects.iter().any(has_label), "{prompt}");
        }
        for prompt in ["", "x", "a serene lake", "misty, ethereal mountains", "the old red fox"] {
            assert_eq!(read(prompt).label, None, "{prompt}");
        }
    }

    #[test]
    fn nouns_relate_to_each_other() {
        check("a chocolate cake", &[("cake", None, 1)]);
        check("a blue bowl of soup", &[("stew", Some(0x2f6fc4), 1)]);
        check("una casa roja", &[("house", Some(0xcf3a2b), 1)]);
        let sofa = read("a cat and a dog on a sofa, a book");
        assert!(sofa.has(Sight::Room));
        let places = sofa.subjects.iter().map(|shown| shown.place);
        assert!(places.eq([Place::On, Place::On, Place::Ground, Place::On]));
        assert_eq!(sofa.subjects[0].carrier, Some(2));
        for (prompt, place) in [
            ("an astronaut riding a horse", Place::On),
            ("a cat on a car", Place::On),
            ("a ship in a bottle", Place::In),
            ("a woman in a red dress", Place::Ground),
            ("a man in an armchair", Place::On),
            ("a dog beside a bicycle", Place::Beside),
            ("a bridge crossing a river", Place::Across),
            ("ein Haus neben einem Baum", Place::Beside),
            ("a fox in a field of flowers", Place::Ground),
        ] {
            assert_eq!(read(prompt).subjects.first().unwrap().place, place, "{prompt}");
        }
        let balloon = read("a child holding a balloon").subjects.pop().unwrap();
        assert_eq!((balloon.place, balloon.carrier), (Place::Held, Some(0)));
        // In German, a bad is a bathtub.
        check("a bad dog", &[("dog", None, 1)]);
        check("bad dogs", &[("dog", None, SEVERAL)]);
    }
}
