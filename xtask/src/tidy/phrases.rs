//! Phrases that read as if translated.

/// A phrase in lower case, and what a native speaker would write.
const PHRASES: [(&str, &str); 29] = [
    ("is no url", "is not a URL"),
    ("is no json", "is not JSON"),
    ("is no rust", "is not valid Rust"),
    ("is no picture", "is not a picture"),
    ("is no image", "is not an image"),
    ("is no task", "is not a task"),
    ("is no model", "is not a model"),
    ("is no secret", "is not a secret"),
    ("is no number", "is not a number"),
    ("is no longer the", "no longer"),
    ("is none of", "is not one of"),
    ("none that may", "not allowed to"),
    ("stands twice", "occurs twice"),
    ("stand twice", "occur twice"),
    ("take up again", "resume"),
    ("taken up again", "resumed"),
    ("in passing", "transiently"),
    ("let go of", "drop"),
    ("lets go of", "drops"),
    ("cut off", "disconnected"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("is found out", "is detected"),
    ("learns of", "is told about"),
    ("fails so", "fails with this error"),
    ("such ones", "them"),
    ("also if", "even if"),
    ("also while", "even while"),
];

/// Returns the lines with phrases to rewrite, each with what to write instead.
pub fn found(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words = words(line);
        for (phrase, better) in PHRASES {
            let phrase_words: Vec<_> = phrase.split(' ').collect();
            if words.windows(phrase_words.len()).any(|window| window == phrase_words) {
                found.push(format!("line {}: \"{phrase}\": {better}", index + 1));
            }
        }
    }
    found
}

fn words(line: &str) -> Vec<String> {
    let is_separator = |c: char| !c.is_alphanumeric() && c != '\'' && c != '_';
    line.to_lowercase().split(is_separator).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words_in_any_case() {
        assert_eq!(found("fine\n// This is no URL.").len(), 1);
        assert_eq!(found("Also if it fails, mend it").len(), 2);
        assert!(found("amended, also iffy, and is no urlencoding").is_empty());
    }
}
