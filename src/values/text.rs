//! Prepares text for messages: makes untrusted text printable, and suggests a known name for a
//! misspelled one.
//!
//! Untrusted text, such as a message of the service or a name in a file from someone else, could
//! contain characters that manipulate the terminal on which a program prints it, or that hide a
//! part of the line.

use std::fmt::{self, Display};

/// The maximum printed length of an id or a status, in characters.
pub(crate) const MAX_NAME: usize = 100;

/// The maximum printed length of a message from the service, in characters.
pub(crate) const MAX_MESSAGE: usize = 300;

/// The start of a `data:` URL, in any case.
pub(super) const DATA_URL: &[u8] = b"data:";

/// The similarity of two names, from 0 to 1, above which one is suggested for the other.
const SIMILAR: f64 = 0.4;

/// Returns the first `limit` characters of `text`, followed by `...` if there are more. Replaces
/// each control character, and each character that reorders or hides text, with a space, because
/// such characters could manipulate a terminal.
///
/// ```
/// use imagekiln::text::one_line;
/// assert_eq!(one_line("red\u{1b}[31m\nfox", 100), "red [31m fox");
/// assert_eq!(one_line("a red fox", 5), "a red...");
/// ```
pub fn one_line(text: &str, limit: usize) -> String {
    let mut shown: String =
        text.chars().take(limit).map(|c| if is_printable(c) { c } else { ' ' }).collect();
    if text.chars().nth(limit).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Returns whether the character is safe to print: it is not a control character, and it does not
/// reorder or hide other text.
pub fn is_printable(c: char) -> bool {
    let reorders_or_hides = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    !c.is_control() && !reorders_or_hides
}

/// Returns a number with its noun, such as `1 job` or `3 jobs`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// An amount of credits, to print for people with the precision of the format string. Negative zero
/// and small negative rounding errors of sums are printed as 0, and amounts from 10^15 on are
/// printed with an exponent.
///
/// ```
/// use imagekiln::text::Credits;
/// assert_eq!(format!("{:.2} {}", Credits(4.0), Credits(0.5)), "4.00 0.5");
/// assert_eq!(format!("{:.2} {}", Credits(-0.0), Credits(1e308)), "0.00 1e308");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Credits(pub f64);

impl From<u8> for Credits {
    fn from(credits: u8) -> Self {
        Self(credits.into())
    }
}

/// The smallest amount that is printed with an exponent.
const LARGE: f64 = 1e15;

/// The largest negative rounding error of a sum that is printed as 0.
const ROUNDING: f64 = 1e-6;

impl Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = if (-ROUNDING..=0.0).contains(&self.0) { 0.0 } else { self.0 };
        if amount.abs() < LARGE {
            return Display::fmt(&amount, f);
        }
        f.pad_integral(true, "", &format!("{amount:e}"))
    }
}

/// Returns whether the text starts with `http://` or `https://`, in upper or lower case.
pub fn is_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// Returns whether the text starts with `data:`, in upper or lower case.
pub fn is_data_url(text: impl AsRef<[u8]>) -> bool {
    let start = text.as_ref().get(..DATA_URL.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(DATA_URL))
}

/// Returns the message of a parser error without the unexpected value that it quotes, because this
/// value may be secret.
pub fn without_value(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => message,
    }
}

/// Whether the name of a field suggests that its value is secret. This also protects fields that
/// the contract does not define.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["secret", "token", "password", "passwd", "credential", "api_key", "apikey", "authorization"]
        .iter()
        .any(|word| name.contains(word))
}

/// Suggests the known name that is most similar to `name`, as the end of a message. Returns an
/// empty string if no name is similar, or if `name` is longer than 100 bytes, because comparing
/// long names takes too long.
///
/// ```
/// use imagekiln::text::hint;
/// let known = || ["prompt", "seed"].into_iter();
/// assert_eq!(hint("promt", known()), "; did you mean `prompt`?");
/// assert_eq!(hint("width", known()), "");
/// ```
pub fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, SIMILAR, known) {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => String::new(),
    }
}

/// Returns the known name that is most similar to `name`, if its similarity, from 0 to 1, is more
/// than `least`. `None` if `name` is longer than 100 bytes.
pub fn nearest<'a>(
    name: &str,
    least: f64,
    known: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let known = known.filter(|_| name.len() <= MAX_NAME);
    let rated = known.map(|known| (similarity(known), known)).filter(|(rate, _)| *rate > least);
    rated.max_by(|(one, _), (two, _)| one.total_cmp(two)).map(|(_, nearest)| nearest)
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
