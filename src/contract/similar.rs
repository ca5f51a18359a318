//! Suggests a name that the caller may have meant.

use crate::values::MAX_NAME;

/// The minimum similarity of two names, from 0 to 1, to suggest one for the other.
const SIMILAR: f64 = 0.4;

/// Suggests the known name that is most similar to `name`. A long name is similar to none, and
/// comparing it would take long.
pub(super) fn hint(name: &str, known: impl Iterator<Item = &'static str>) -> String {
    if name.len() > MAX_NAME {
        return String::new();
    }
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let rated = known.map(|known| (similarity(known), known)).filter(|(rate, _)| *rate > SIMILAR);
    match rated.max_by(|(one, _), (two, _)| one.total_cmp(two)) {
        Some((_, nearest)) => format!("; did you mean `{nearest}`?"),
        None => String::new(),
    }
}
