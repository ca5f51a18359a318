//! Makes untrusted text safe to print: it can't move the cursor, and can't hide or reorder anything
//! on its line.

use imagekiln::text::{self, is_printable};

/// The maximum length of a printed name or id, in characters.
const LONGEST: usize = 100;

/// The first 100 characters of a text, without control characters.
pub fn one_line(text: &str) -> String {
    text::one_line(text, LONGEST)
}

/// The whole text, without control characters.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_printable(c) { c } else { ' ' }).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
