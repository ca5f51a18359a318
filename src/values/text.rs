//! Makes untrusted text printable: one line, bounded, without control characters and secrets.
//! Suggests the name that the caller may have meant.

/// The maximum printed length of an id or a status, in characters.
pub(crate) const MAX_NAME: usize = 100;

/// The maximum printed length of a message from the service, in characters.
pub(crate) const MAX_MESSAGE: usize = 300;

/// The minimum similarity of two names, from 0 to 1, to suggest one for the other.
const SIMILAR: f64 = 0.4;

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

/// Whether the name suggests that a field is secret, including fields that the contract does not
/// define.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["secret", "token", "password", "passwd", "credential", "api_key", "apikey", "authorization"]
        .iter()
        .any(|word| name.contains(word))
}

/// Suggests the known name that is most similar to `name`. A long name is similar to none, and
/// comparing it would take long.
pub(crate) fn hint(name: &str, known: impl Iterator<Item = &'static str>) -> String {
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

    #[test]
    fn names_of_secrets_are_found_in_any_case() {
        for name in ["webhook_secret", "apiKey", "X-Authorization", "TOKEN", "my_passwords"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["", "prompt", "seed", "toke", "api key"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
