//! Phrases that read as if translated.

/// A phrase in lower case, and the words of a native speaker. A full stop is the end of a sentence
/// or of a part of it.
const PHRASES: [(&str, &str); 43] = [
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
    ("takes up again", "resumes"),
    ("taken up again", "resumed"),
    ("in passing", "transiently"),
    ("let go of", "drop"),
    ("lets go of", "drops"),
    ("cut off", "disconnected"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("is found out", "is detected"),
    ("are found out", "are detected"),
    ("be found out", "be detected"),
    ("was found out", "was detected"),
    ("learn of", "be told about"),
    ("learns of", "is told about"),
    ("learned of", "was told about"),
    ("fail so .", "fail with this error"),
    ("fails so .", "fails with this error"),
    ("such ones", "them"),
    ("such a one", "one of them"),
    ("also if", "even if"),
    ("also while", "even while"),
    ("no more .", "no longer"),
    ("them no more", "no longer"),
    ("of strangers", "untrusted"),
    ("from strangers", "untrusted"),
    ("the door of", "the entry points for"),
    ("a hop to", "moving to"),
];

/// The marks of comments. Lines with the same mark form one text.
const MARKS: [&str; 5] = ["///", "//!", "//", "#", "*"];

/// Returns the phrases to rewrite, with their lines, and the words to use instead. A phrase may
/// continue on the next line of a comment or of a broken string, and in prose on any line.
pub fn found(text: &str, is_prose: bool) -> Vec<String> {
    let words = words(text, is_prose);
    let mut found = Vec::new();
    for (phrase, better) in PHRASES {
        let phrase_words: Vec<_> = phrase.split(' ').collect();
        for (at, window) in words.windows(phrase_words.len()).enumerate() {
            // "There is no picture" is what a native speaker writes.
            let is_existence = phrase.starts_with("is no ") && at > 0 && words[at - 1].1 == "there";
            if window.iter().map(|(_, word)| word).eq(&phrase_words) && !is_existence {
                found.push((window[0].0, format!("\"{phrase}\": {better}")));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(line, found)| format!("line {line}: {found}")).collect()
}

/// Returns the words in lower case with the numbers of their lines, and a full stop where no phrase
/// continues.
fn words(text: &str, is_prose: bool) -> Vec<(usize, String)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '_';
    let mut words = Vec::new();
    let mut before = "";
    for (index, line) in text.lines().enumerate() {
        let (line, number) = (line.trim(), index + 1);
        if !continues(before, line, is_prose) {
            words.push((number, ".".to_owned()));
        }
        before = line;
        let mut word = String::new();
        for c in line.chars() {
            if is_word(c) {
                word.extend(c.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push((number, std::mem::take(&mut word)));
            }
            if ".,;:!?()|".contains(c) {
                words.push((number, ".".to_owned()));
            }
        }
        if !word.is_empty() {
            words.push((number, word));
        }
    }
    words.push((0, ".".to_owned()));
    words
}

/// Whether a text that ends one line goes on in the next one.
fn continues(before: &str, line: &str, is_prose: bool) -> bool {
    let mark = |line: &str| MARKS.into_iter().find(|mark| line.starts_with(mark));
    let is_comment = mark(line).is_some() && mark(before) == mark(line);
    is_comment || before.ends_with('\\') || (is_prose && !before.is_empty() && !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words_in_any_case() {
        assert_eq!(found("fine\n// This is no URL.", false).len(), 1);
        assert_eq!(found("Also if it fails, mend it", false).len(), 2);
        assert!(found("amended, also iffy, and is no urlencoding", false).is_empty());
    }

    #[test]
    fn a_phrase_may_continue_on_the_next_line_of_a_text() {
        let wrapped = found("/// It runs, also\n/// while it waits.", false);
        assert_eq!(wrapped, ["line 1: \"also while\": even while"]);
        assert_eq!(found("\"it runs, also \\\n while it waits\"", false).len(), 1);
        assert_eq!(found("It runs, also\nwhile it waits.", true).len(), 1);
        assert!(found("// It runs, also\nif a {}", false).is_empty());
        assert!(found("also\n\nif", true).is_empty());
    }

    #[test]
    fn a_phrase_ends_with_its_sentence() {
        assert_eq!(found("// It can change them no more and fails so.", false).len(), 2);
        assert_eq!(found("// It waits no more\nwait();", false).len(), 1);
        assert!(found("// It fails so that no more than two run, also. If so:", false).is_empty());
        assert!(found("// There is no task.", false).is_empty());
    }
}
