//! Names of operations in settings: `gen-2-pro`, or `gen-2-*` for all with that prefix.

use std::collections::BTreeMap;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_pattern_wins() {
        let table = BTreeMap::from(
            [("*", 1), ("gen-2-*", 2), ("gen-2-pro", 3), ("gen-2-pro*", 4)]
                .map(|(p, v)| (p.to_owned(), v)),
        );
        for (operation, value) in [
            ("gen-dev", 1),
            ("gen-2-flex", 2),
            ("gen-2-pro", 3),
            ("gen-2-pro-preview", 4),
            ("gen-tools/erase-v1", 1),
        ] {
            assert_eq!(best(&table, operation), Some(&value), "{operation}");
        }
        assert_eq!(best(&BTreeMap::from([("gen-2-pro".to_owned(), 1)]), "gen-2-pr"), None);
    }
}
