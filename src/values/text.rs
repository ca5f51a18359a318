//! Makes untrusted text printable: one line, bounded, and without control characters.

/// The maximum printed length of an id or a status, in characters.
pub(crate) const MAX_NAME: usize = 100;

/// The maximum printed length of a message from the service, in characters.
pub(crate) const MAX_MESSAGE: usize = 300;

/// Returns the first `limit` characters of `text`. Replaces control characters and characters that
/// reorder or hide text with spaces, because they could manipulate a terminal.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut shown: String =
        text.chars().take(limit).map(|c| if is_printable(c) { c } else { ' ' }).collect();
    if text.chars().nth(limit).is_some() {
        shown.push_str("...");
    }
    shown
}

fn is_printable(c: char) -> bool {
    let reorders_or_hides = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    !c.is_control() && !reorders_or_hides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_bounded_and_on_one_line() {
        assert_eq!(one_line("a\u{1b}[31m\nb\u{202e}c", 20), "a [31m b c");
        assert_eq!(one_line("four", 4), "four");
        assert_eq!(one_line("fives", 4), "five...");
        assert_eq!(one_line("\u{1f98a}\u{1f98a}", 1), "\u{1f98a}...");
    }
}
