//! Names that clients choose: makes them safe to show, and suggests the right name for a misspelled
//! one.
//!
//! Also matches operations with the patterns in settings, such as `gen-2-pro`, or `gen-2-*` for all
//! operations with that prefix.

use std::collections::BTreeMap;

/// The maximum number of characters of a name to show.
const MAX_SHOWN: usize = 128;

/// Returns a name in a form that is safe to show: with a limited length, and with `?` in place of
/// characters that cannot be printed.
pub(crate) fn printable(name: &str) -> String {
    bounded(name, MAX_SHOWN)
}

/// Returns the first `max` characters of a text, with `?` in place of characters that cannot be
/// printed.
pub(crate) fn bounded(text: &str, max: usize) -> String {
    text.chars().take(max).map(|c| if is_printable(c) { c } else { '?' }).collect()
}

/// Whether `Debug` shows the character itself. Quotes and the backslash count, although `Debug`
/// escapes them.
fn is_printable(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1
}

/// Returns the text if it consists of digits. Parsing it as a number would also accept a plus sign.
pub(crate) fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// Whether a text has the form of a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    groups && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Returns the candidate that is the fewest edits away from `name`.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| strsim::osa_distance(name, candidate))
}

/// Like [`nearest`], but returns `None` if more than a third of the characters differ.
pub(crate) fn similar<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let longest = |candidate: &str| name.chars().count().max(candidate.chars().count());
    nearest(name, candidates)
        .filter(|candidate| strsim::osa_distance(name, candidate) * 3 <= longest(candidate))
}

/// Whether `pattern` is the name of the operation, or the beginning of its name followed by `*`.
pub(crate) fn matches(pattern: &str, operation: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => operation.starts_with(beginning),
        None => pattern == operation,
    }
}

/// Returns the value for an operation from a table with patterns. A full name takes precedence over
/// a prefix, and a longer prefix takes precedence over a shorter one.
pub(crate) fn best<'a, T>(table: &'a BTreeMap<String, T>, operation: &str) -> Option<&'a T> {
    let matching = table.iter().filter(|(pattern, _)| matches(pattern, operation));
    matching
        .max_by_key(|(pattern, _)| (!pattern.ends_with('*'), pattern.len()))
        .map(|(_, value)| value)
}
