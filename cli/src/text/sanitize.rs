//! Makes untrusted text safe to print: it can't move the cursor, and can't hide or reorder anything
//! on its line.

/// The maximum length of a printed name or id, in characters.
const LONGEST: usize = 100;

/// The first 100 characters of a text, without control characters.
pub fn one_line(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => printable(&text[..end]) + "...",
        None => printable(text),
    }
}

/// The whole text, without control characters.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { ' ' } else { c }).collect()
}

/// The whole text, without control characters other than the ends of its lines.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Quotes a word for a POSIX shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Control characters, and characters that are invisible or change the direction of text.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_bounded_and_has_no_control_characters() {
        assert_eq!(one_line("a\u{1b}[31m\nb\u{202e}c"), "a [31m b c");
        assert_eq!(one_line(&"x".repeat(100)), "x".repeat(100));
        assert_eq!(one_line(&"\u{1f98a}".repeat(101)), format!("{}...", "\u{1f98a}".repeat(100)));
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(printable_lines("a\u{1b}[31m\nb\u{202e}c"), "a [31m\nb c");
    }

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("fox.png"), "fox.png");
        assert_eq!(quoted("a fox.png"), "'a fox.png'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
