//! Text from outside, made fit to be shown: on one line, bounded, and free of control characters.

/// How much of an id or a status is shown, in characters.
pub(crate) const MAX_NAME: usize = 100;

/// How much of a message by the service is shown, in characters.
pub(crate) const MAX_MESSAGE: usize = 300;

/// The first `limit` characters of `text`. Control characters, and those that reorder or hide what
/// surrounds them, become blanks: they could rewrite a terminal.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut shown: String =
        text.chars().take(limit).map(|c| if can_be_shown(c) { c } else { ' ' }).collect();
    if text.chars().nth(limit).is_some() {
        shown.push_str("...");
    }
    shown
}

fn can_be_shown(c: char) -> bool {
    let reorders_or_hides = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    !c.is_control() && !reorders_or_hides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_one_bounded_line() {
        assert_eq!(one_line("a\u{1b}[31m\nb\u{202e}c", 20), "a [31m b c");
        assert_eq!(one_line("four", 4), "four");
        assert_eq!(one_line("fives", 4), "five...");
        assert_eq!(one_line("\u{1f98a}\u{1f98a}", 1), "\u{1f98a}...");
    }
}
