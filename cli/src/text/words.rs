//! Suggestions for misspelled names, and nouns with their number.

use std::fmt::Display;

/// The minimum similarity of a name that is suggested alone, from 0 to 1.
const SIMILAR: f64 = 0.4;

/// The minimum similarity of names that are listed. This measure and its minimum are those of the
/// parser of the command line, which suggests commands and flags.
const LISTED: f64 = 0.7;

/// A number with its noun, such as `1 job` or `3 jobs`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Suggests the known name that is most similar to `name`.
pub fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    match most_similar(known, SIMILAR, similarity).first() {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => String::new(),
    }
}

/// The known names that are similar to `name`, the most similar one first.
pub fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    most_similar(known, LISTED, |known| strsim::jaro(name, known))
}

fn most_similar<'a>(
    known: impl Iterator<Item = &'a str>,
    least: f64,
    similarity: impl Fn(&str) -> f64,
) -> Vec<&'a str> {
    let rated = known.map(|known| (similarity(known), known));
    let mut rated: Vec<_> = rated.filter(|(rate, _)| *rate > least).collect();
    // Of names that are equally similar, the last one is first.
    rated.sort_by(|(one, _), (two, _)| one.total_cmp(two));
    rated.into_iter().rev().map(|(_, known)| known).collect()
}
