//! File names from prompts.

use crate::sha256;

/// The maximum length in bytes.
const LONGEST: usize = 60;

/// The number of characters of a prompt that are read.
const READ: usize = 500;

/// Letters with marks, in lower case, and their ASCII letters.
const FOLDED: [(&str, &str); 23] = [
    ("àáâãäåāăą", "a"),
    ("æ", "ae"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŋ", "n"),
    ("òóôõöøōŏő", "o"),
    ("œ", "oe"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ßẞ", "ss"),
    ("ţťŧț", "t"),
    ("þ", "th"),
    ("ùúûüũūŭůűų", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
];

/// Returns the words of a prompt in lower-case ASCII, joined by `-`.
pub(super) fn slug(prompt: &str) -> String {
    let mut slug = String::new();
    let mut starts_word = false;
    for c in prompt.chars().take(READ).filter(|c| !is_within_word(*c)) {
        let Some(letters) = folded(c) else {
            starts_word = true;
            continue;
        };
        if starts_word && !slug.is_empty() {
            slug.push('-');
        }
        starts_word = false;
        slug.push_str(&letters);
    }
    if slug.len() > LONGEST {
        let end = slug[..=LONGEST].rfind('-').unwrap_or(LONGEST);
        slug.truncate(end);
    }
    if !slug.is_empty() {
        slug
    } else if prompt.trim().is_empty() {
        "picture".to_owned()
    } else {
        // Prompts in other scripts have different names, too.
        format!("prompt-{}", &sha256(prompt.as_bytes())[..8])
    }
}

/// Whether a character belongs to the letter before it: an apostrophe or a combining mark.
fn is_within_word(c: char) -> bool {
    matches!(c, '\'' | '’' | '\u{300}'..='\u{36f}')
}

fn folded(c: char) -> Option<String> {
    if c.is_ascii_alphanumeric() {
        return Some(c.to_ascii_lowercase().to_string());
    }
    let c = c.to_lowercase().next()?;
    let (_, letters) = FOLDED.into_iter().find(|(letters, _)| letters.contains(c))?;
    Some(letters.to_owned())
}
