//! Names that clients choose: made fit to be shown, and suggestions for misspelled ones.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_format_characters_are_replaced() {
        assert_eq!(printable("wïdth_2 \"宽\""), "wïdth_2 \"宽\"");
        assert_eq!(printable("a\r\n\t\0\u{1b}\u{202e}\u{feff}b"), "a???????b");
        assert_eq!(printable(&"é".repeat(1000)).chars().count(), MAX_SHOWN);
    }

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["aspect_ratio", "seed", "prompt"];
        for (name, suggested) in [
            ("aspect_ration", Some("aspect_ratio")),
            ("aspectRatio", Some("aspect_ratio")),
            ("promt", Some("prompt")),
            ("sede", Some("seed")),
            ("width", None),
        ] {
            assert_eq!(similar(name, names), suggested, "{name}");
        }
        assert_eq!(nearest("promotion", names), Some("prompt"));
        assert_eq!(nearest("x", []), None);
    }
}
