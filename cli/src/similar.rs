//! Suggestions for misspelled names.

/// The minimum similarity of two names, from 0 to 1.
const SIMILAR: f64 = 0.4;

/// Suggests the known name that is most similar to `name`.
pub fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let rated = known.map(|known| (similarity(known), known)).filter(|(rate, _)| *rate > SIMILAR);
    match rated.max_by(|(one, _), (two, _)| one.total_cmp(two)) {
        Some((_, nearest)) => format!("; did you mean `{nearest}`?"),
        None => String::new(),
    }
}
