//! File names from prompts.

use super::component::start;
use crate::sha256;

/// The maximum length of a slug in bytes.
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

/// Returns the words of a prompt in lower case, joined by `-`. Latin letters lose their marks, and
/// letters of other scripts stay.
pub(super) fn slug(prompt: &str) -> String {
    let mut slug = String::new();
    let mut starts_word = false;
    for c in prompt.chars().take(READ).filter(|c| !is_left_out(*c)) {
        let Some(letters) = lowered(c) else {
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
        let whole = start(&slug, LONGEST);
        let is_whole = slug[whole.len()..].starts_with('-');
        // Cut at the end of a word, unless that would lose more than half of the slug: in scripts
        // without spaces, words have any length.
        let end = whole.rfind('-').filter(|end| !is_whole && *end >= LONGEST / 2);
        let end = end.unwrap_or(whole.len());
        slug.truncate(end);
    }
    if !slug.is_empty() {
        slug
    } else if prompt.trim().is_empty() {
        "picture".to_owned()
    } else {
        // The digest gives different prompts without letters different names.
        format!("prompt-{}", &sha256(prompt.as_bytes())[..8])
    }
}

/// Whether a character within a word is left out: an apostrophe, a mark of a Latin letter, or an
/// invisible joiner.
fn is_left_out(c: char) -> bool {
    matches!(c, '\'' | '’' | '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}')
}

fn lowered(c: char) -> Option<String> {
    let lower = c.to_lowercase().next()?;
    if let Some((_, letters)) = FOLDED.into_iter().find(|(letters, _)| letters.contains(lower)) {
        return Some(letters.to_owned());
    }
    (c.is_alphanumeric() || is_mark(c)).then(|| c.to_lowercase().collect())
}

/// Whether a character is a part of a word, although Unicode has it neither among the letters nor
/// among the numbers: nuktas, viramas and tone marks.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{93c}' | '\u{94d}' | '\u{9bc}' | '\u{9cd}' | '\u{a3c}' | '\u{a4d}' | '\u{abc}'
            | '\u{acd}' | '\u{b3c}' | '\u{b4d}' | '\u{bcd}' | '\u{c4d}' | '\u{ccd}' | '\u{d4d}'
            | '\u{dca}' | '\u{e47}'..='\u{e4e}' | '\u{ec8}'..='\u{ecc}' | '\u{1037}'
            | '\u{1039}' | '\u{103a}' | '\u{17d2}'
    )
}
