//! Splits a prompt into terms, and looks up their meanings.
//!
//! The words that change a painting are in two tables: `shapes/shapes.tsv` has those of shapes, and
//! `shapes/words.tsv` all others.

use std::{collections::BTreeMap, sync::LazyLock};

use super::{
    palette::Time,
    shapes::{SHAPES, Shape, colour},
    tables::{Grammar, LANGUAGES, Language, Sight, named, rows},
};

/// The maximum number of words of a term.
const LONGEST: usize = 3;

/// The maximum number of characters of a Japanese word in the tables.
const LONGEST_JAPANESE: usize = 8;

/// Endings of declined words, without which they are in the tables.
const GERMAN_ENDINGS: [&str; 7] = ["n", "e", "s", "en", "er", "es", "em"];

/// The length of the shortest German nouns that are found at the end of a compound.
const SHORTEST_HEAD: usize = 4;

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

/// One or more words of a prompt.
pub(super) struct Term {
    pub(super) text: String,
    pub(super) meaning: Option<Meaning>,
    pub(super) is_plural: bool,
}

/// The terms of each clause of a prompt, and its language.
pub(super) fn terms(prompt: &str) -> (Vec<Vec<Term>>, Option<Language>) {
    let prompt = prompt.to_lowercase();
    let language = language(&prompt);
    let clauses = prompt.split([',', '.', ';', ':', '!', '?', '\n', '、', '。', '，']);
    (clauses.map(|clause| clause_terms(clause, language)).collect(), language)
}

/// The language with the most words that relate others. English, if two have as many.
fn language(prompt: &str) -> Option<Language> {
    if prompt.chars().any(is_kana) {
        return Some(Language::Japanese);
    }
    let count = |language: &Language| {
        let is_its = |word: &&str| {
            let mut meanings = WORDS.get(*word).into_iter().flatten();
            meanings.any(|(own, meaning)| own == language && matches!(meaning, Meaning::Grammar(_)))
        };
        split(prompt).filter(is_its).count()
    };
    // Of equal elements, `max_by_key` returns the last.
    LANGUAGES.into_iter().rev().filter(|language| count(language) > 0).max_by_key(count)
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn clause_terms(clause: &str, language: Option<Language>) -> Vec<Term> {
    let words: Vec<_> = split(clause).flat_map(segments).collect();
    let (mut terms, mut rest) = (Vec::new(), words.as_slice());
    while let Some(first) = rest.first() {
        let known = (1..=LONGEST.min(rest.len())).rev().find_map(|count| {
            let text = rest.get(..count)?.join(" ");
            let (meaning, is_plural) = meaning(&text, language)?;
            Some((Term { text, meaning: Some(meaning), is_plural }, count))
        });
        let unknown = || (Term { text: (*first).to_owned(), meaning: None, is_plural: false }, 1);
        let (term, count) = known.unwrap_or_else(unknown);
        terms.push(term);
        rest = rest.get(count..).unwrap_or_default();
    }
    terms
}

/// The meaning of a term, and whether it is in the plural.
fn meaning(text: &str, language: Option<Language>) -> Option<(Meaning, bool)> {
    let is_german = language == Some(Language::German);
    let known = |singular: &str| known(singular, language);
    let of_y = text.strip_suffix("ies").map(|stem| format!("{stem}y"));
    let singulars = [text.strip_suffix('s'), text.strip_suffix("es"), of_y.as_deref()];
    let endings = GERMAN_ENDINGS.iter().filter(|_| is_german);
    let stems = endings.filter_map(|ending| text.strip_suffix(ending));
    let plural = || singulars.into_iter().flatten().chain(stems).find_map(known);
    let is_word = is_german && !text.contains(' ');
    let compound = || is_word.then(|| compound(text, known)).flatten();
    let singular = known(text).map(|meaning| (meaning, false));
    singular.or_else(|| Some((plural()?, true))).or_else(|| Some((compound()?, false)))
}

fn known(word: &str, language: Option<Language>) -> Option<Meaning> {
    let meanings = WORDS.get(word)?;
    let spoken = language.unwrap_or(Language::English);
    let own = meanings.iter().find(|(own, _)| *own == spoken);
    // An English word may be a different one in another language.
    let is_possible = |(own, _): &&(Language, Meaning)| {
        language != Some(Language::English) || *own == Language::Japanese
    };
    own.or_else(|| meanings.iter().find(is_possible)).map(|(_, meaning)| *meaning)
}

/// The meaning of a German compound is that of its end: a `holztisch` is a `tisch`.
fn compound(text: &str, known: impl Fn(&str) -> Option<Meaning>) -> Option<Meaning> {
    let ends = text.char_indices().skip(SHORTEST_HEAD - 1).filter_map(|(at, _)| text.get(at..));
    let mut heads = ends.filter(|end| end.chars().count() >= SHORTEST_HEAD);
    let is_noun = |meaning: &Meaning| matches!(meaning, Meaning::Scenery(_) | Meaning::Shows(..));
    heads.find_map(|head| known(head).filter(is_noun))
}

fn is_kana(letter: char) -> bool {
    ('\u{3041}'..='\u{30ff}').contains(&letter)
}

/// Splits a Japanese text, which has no spaces, into known words and the rest.
fn segments(text: &str) -> Vec<&str> {
    let is_hiragana = |letter: char| ('\u{3041}'..='\u{309f}').contains(&letter);
    let is_han = |letter: char| ('\u{3400}'..='\u{9fff}').contains(&letter);
    if !text.chars().any(|letter| is_kana(letter) || is_han(letter)) {
        return vec![text];
    }
    let (mut segments, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let lengths = rest.char_indices().map(|(at, letter)| at + letter.len_utf8());
        let words = lengths.take(LONGEST_JAPANESE).filter_map(|length| rest.get(..length));
        let word = words.filter(|word| WORDS.contains_key(*word)).last();
        let length = word.map_or(letter.len_utf8(), str::len);
        if word.is_some() || is_hiragana(letter) {
            segments.extend(text.get(start..at).filter(|unknown| !unknown.is_empty()));
            segments.extend(word);
            start = at + length;
        }
        at += length;
    }
    segments.extend(text.get(start..).filter(|unknown| !unknown.is_empty()));
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nouns(prompt: &str) -> Vec<String> {
        let (clauses, _) = terms(prompt);
        let is_known = |term: &Term| !matches!(term.meaning, None | Some(Meaning::Grammar(_)));
        clauses.into_iter().flatten().filter(is_known).map(|term| term.text).collect()
    }

    #[test]
    fn terms_are_the_longest_that_are_known() {
        assert_eq!(nouns("an ice cream on ice"), ["ice cream", "ice"]);
        assert_eq!(nouns("the foxtrot, a catalogue and dogma"), [""; 0]);
    }

    #[test]
    fn words_have_the_meaning_of_the_language_of_the_prompt() {
        let shape = |prompt: &str| {
            let (clauses, _) = terms(prompt);
            clauses.into_iter().flatten().find_map(|term| match term.meaning {
                Some(Meaning::Shows(shape, _)) => Some(shape.name),
                _ => None,
            })
        };
        assert_eq!(shape("a boot in the mud"), Some("boot"));
        assert_eq!(shape("muddy boot"), Some("boot"));
        assert_eq!(shape("ein Boot im Hafen"), Some("boat"));
        assert_eq!(shape("drei alte Hunde"), Some("dog"));
        assert_eq!(shape("eine Gemüsesuppe"), Some("stew"));
        assert_eq!(shape("dos perros"), Some("dog"));
        assert_eq!(nouns("雪の中の赤いキツネ"), ["雪", "赤", "キツネ"]);
    }

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
