//! The words of a prompt that change its painting, and what each one does.
//!
//! They are in two tables: `shapes/shapes.tsv` has those of shapes, and `shapes/words.tsv` all
//! others.

use std::{collections::BTreeMap, sync::LazyLock};

use super::{
    palette::Time,
    shapes::{SHAPES, Shape, colour},
    tables::{Grammar, LANGUAGES, Language, Sight, named, rows},
};

/// What a word does.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// Sets the time of day.
    At(Time),
    /// Adds something to the scenery.
    Scenery(Sight),
    /// Shows a shape, maybe in a colour that it has unless the prompt names another.
    Shows(&'static Shape, Option<u32>),
    /// Colours what follows.
    Colour(u32),
    /// Says how many of what follows.
    Count(usize),
    /// Relates other words.
    Grammar(Grammar),
}

impl Meaning {
    pub(super) fn is_grammar(&self) -> bool {
        matches!(self, Self::Grammar(_))
    }
}

/// The meanings of each word in lower case, by language.
pub(super) static WORDS: LazyLock<BTreeMap<String, Vec<(Language, Meaning)>>> =
    LazyLock::new(|| {
        let mut all = BTreeMap::<_, Vec<_>>::new();
        for (word, language, meaning) in words() {
            all.entry(word).or_default().push((language, meaning));
        }
        all
    });

/// All words of the tables in lower case.
pub(super) fn words() -> impl Iterator<Item = (String, Language, Meaning)> {
    let shapes = SHAPES.iter().map(|shape| (shape.words, Meaning::Shows(shape, None)));
    let others = rows(include_str!("../../shapes/words.tsv"));
    let others = others.filter_map(|[kind, value, words @ ..]: [_; 6]| {
        let meaning = match kind {
            "time" => Meaning::At(named(value)?),
            "scenery" => Meaning::Scenery(named(value)?),
            "colour" => Meaning::Colour(colour(value).ok()?),
            "number" => Meaning::Count(value.parse().ok()?),
            "grammar" => Meaning::Grammar(named(value)?),
            _ => return None,
        };
        Some((words, meaning))
    });
    shapes.chain(others).flat_map(|(columns, meaning)| {
        columns.into_iter().zip(LANGUAGES).flat_map(move |(column, language)| {
            let words = column.split(", ").filter(|word| !word.is_empty());
            words.map(move |word| {
                // `daisy#faf7f0` is a shape in another colour.
                let (word, own) = word.split_at(word.find('#').unwrap_or(word.len()));
                let meaning = match meaning {
                    Meaning::Shows(shape, _) => Meaning::Shows(shape, colour(own).ok()),
                    other => other,
                };
                (word.to_lowercase(), language, meaning)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_one_meaning_in_its_language() {
        for (word, meanings) in WORDS.iter() {
            for (index, (language, _)) in meanings.iter().enumerate() {
                let is_new = meanings[..index].iter().all(|(other, _)| other != language);
                assert!(is_new, "{word} has two meanings in {language:?}");
            }
        }
    }

    #[test]
    fn each_row_of_words_is_read() {
        let table = include_str!("../../shapes/words.tsv");
        let read: Vec<_> = words().map(|(word, language, _)| (word, language)).collect();
        for [kind, value, columns @ ..] in rows::<6>(table) {
            for (column, language) in columns.into_iter().zip(LANGUAGES) {
                for word in column.split(", ").filter(|word| !word.is_empty()) {
                    let known = (word.to_lowercase(), language);
                    assert!(read.contains(&known), "{kind} {value}: {word}");
                }
            }
        }
    }
}
