//! Names that clients choose, made fit to be shown.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_format_characters_are_replaced() {
        assert_eq!(printable("wïdth_2 \"宽\""), "wïdth_2 \"宽\"");
        assert_eq!(printable("a\r\n\t\0\u{1b}\u{202e}\u{feff}b"), "a???????b");
        assert_eq!(printable(&"é".repeat(1000)).chars().count(), MAX_SHOWN);
    }
}
