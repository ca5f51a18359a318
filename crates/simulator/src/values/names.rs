//! Names that clients choose: made fit to be shown, and suggestions for misspelled ones.
//!
//! Settings also have patterns of operations: `gen-2-pro`, or `gen-2-*` for all with that prefix.

use std::collections::BTreeMap;

/// The maximum number of characters to show.
const MAX_SHOWN: usize = 128;

/// A name with a bounded length, and with `?` instead of characters that cannot be printed.
pub(crate) fn printable(name: &str) -> String {
    bounded(name, MAX_SHOWN)
}

/// The first characters of a text, with `?` instead of those that cannot be printed.
pub(crate) fn bounded(text: &str, max: usize) -> String {
    text.chars().take(max).map(|c| if is_printable(c) { c } else { '?' }).collect()
}

/// Whether `Debug` would show the character itself, apart from quotes and the backslash.
fn is_printable(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1
}

/// The candidate that takes the fewest edits to get from `name`.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| strsim::osa_distance(name, candidate))
}

/// The same, unless more than a third of the characters differ.
pub(crate) fn similar<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let longest = |candidate: &str| name.chars().count().max(candidate.chars().count());
    nearest(name, candidates)
        .filter(|candidate| strsim::osa_distance(name, candidate) * 3 <= longest(candidate))
}

/// Whether `pattern` is the operation's name, or a prefix of it followed by `*`.
pub(crate) fn matches(pattern: &str, operation: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => operation.starts_with(beginning),
        None => pattern == operation,
    }
}

/// The value for an operation. A full name takes precedence over a pattern, and a longer pattern
/// over a shorter one.
pub(crate) fn best<'a, T>(table: &'a BTreeMap<String, T>, operation: &str) -> Option<&'a T> {
    let matching = table.iter().filter(|(pattern, _)| matches(pattern, operation));
    matching
        .max_by_key(|(pattern, _)| (!pattern.ends_with('*'), pattern.len()))
        .map(|(_, value)| value)
}
