//! The shells: the form in which each passes a command line and reads the candidates.

use clap_complete::Shell;

use super::candidates::{self, Candidate};

/// The candidates for what is typed, in the form that the script of the shell reads.
pub fn complete(shell: Shell, typed: &[String]) -> String {
    let (current, before) = typed.split_last().map_or(("", typed), |(a, b)| (a.as_str(), b));
    match shell {
        Shell::Zsh => {
            let before = before.iter().map(|word| unquoted(word)).collect();
            lines(candidates::of(before, &unquoted(current)), for_zsh)
        }
        // The words before the last one are without quotes already.
        Shell::Fish => lines(candidates::of(before.to_vec(), &unquoted(current)), with_help),
        Shell::PowerShell => {
            let current = unquoted(current.strip_prefix('=').unwrap_or(current));
            lines(candidates::of(before.to_vec(), &current), with_help)
        }
        Shell::Elvish => lines(candidates::of(before.to_vec(), current), with_help),
        _ => for_bash(before.first().map_or("", String::as_str), current),
    }
}

/// bash passes the line to the cursor, and the end of it that the chosen candidate replaces. That
/// starts after the last quote, `=` or `:`, so the part of each candidate before it is left out.
fn for_bash(line: &str, replaced: &str) -> String {
    let Typed { before, current, .. } = Typed::read(line);
    let kept = Typed::read(line.strip_suffix(replaced).unwrap_or_default());
    lines(candidates::of(before, &current), |Candidate { value, .. }| {
        quoted(value.strip_prefix(&kept.current).unwrap_or(value), kept.quote)
    })
}

/// A command line that ends at the cursor, without its quotes and backslashes.
#[derive(Debug, Default, PartialEq)]
struct Typed {
    before: Vec<String>,
    /// The word at the cursor, which may be empty.
    current: String,
    /// The quote that is open at the cursor.
    quote: Option<char>,
}

impl Typed {
    fn read(line: &str) -> Self {
        // In place of what would be typed next. No shell passes it on.
        const CURSOR: char = '\0';
        let read = |quote: Option<char>| {
            let end = quote.map(String::from).unwrap_or_default();
            let mut before = shlex::split(&format!("{line}{CURSOR}{end}"))?;
            let current = before.pop()?.strip_suffix(CURSOR)?.to_owned();
            Some(Self { before, current, quote })
        };
        [None, Some('\''), Some('"')].into_iter().find_map(read).unwrap_or_default()
    }
}

fn unquoted(word: &str) -> String {
    Typed::read(word).current
}

/// Writes a text so that bash reads it as one word. `quote` is the quote that is open before it.
fn quoted(text: &str, quote: Option<char>) -> String {
    if quote == Some('\'') {
        return text.replace('\'', r"'\''");
    }
    // bash replaces a `~/` at the beginning only if it is not quoted.
    let home = if quote.is_none() && text.starts_with("~/") { "~" } else { "" };
    let is_plain = |c: char| match quote {
        None => c.is_alphanumeric() || "-_./:=@%+,^".contains(c),
        Some(_) => !"\"\\$`".contains(c),
    };
    let rest = text[home.len()..].chars();
    let escaped = rest.flat_map(|c| [(!is_plain(c)).then_some('\\'), Some(c)]);
    home.chars().chain(escaped.flatten()).collect()
}

fn lines(candidates: Vec<Candidate>, line: impl Fn(&Candidate) -> String) -> String {
    candidates.iter().map(|candidate| line(candidate) + "\n").collect()
}

fn with_help(candidate: &Candidate) -> String {
    match candidate.help.as_str() {
        "" => candidate.value.clone(),
        help => format!("{}\t{help}", candidate.value),
    }
}

/// zsh separates the help with a colon.
fn for_zsh(candidate: &Candidate) -> String {
    let value = candidate.value.replace('\\', "\\\\").replace(':', "\\:");
    match candidate.help.as_str() {
        "" => value,
        help => format!("{value}:{}", help.replace('\\', "\\\\")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_at_the_cursor() {
        for (line, before, current, quote) in [
            ("kiln run ", &["kiln", "run"][..], "", None),
            ("kiln  generate 'a fox' --mo", &["kiln", "generate", "a fox"], "--mo", None),
            (r#"kiln e "a \" b" c\ d"#, &["kiln", "e", "a \" b"], "c d", None),
            ("kiln e \"a b", &["kiln", "e"], "a b", Some('"')),
            (r#"--model="ge"#, &[], "--model=ge", Some('"')),
            ("\"it's\"", &[], "it's", None),
            ("'a \\ b'c", &[], "a \\ bc", None),
            ("'a", &[], "a", Some('\'')),
            ("a\\", &[], "a", None),
            ("", &[], "", None),
        ] {
            let typed = Typed::read(line);
            let before: Vec<String> = before.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(typed, Typed { before, current: current.to_owned(), quote }, "{line}");
        }
    }

    #[test]
    fn a_quoted_text_is_read_as_the_same_text() {
        for text in ["{base_model}-finetuned", "my fox (1).png", "it's", "$HOME", "`ls`", "a\"\\b"]
        {
            for quote in [None, Some('\''), Some('"')] {
                let open = quote.map(String::from).unwrap_or_default();
                let word = format!("{open}{}", quoted(text, quote));
                assert_eq!(
                    Typed::read(&word),
                    Typed { current: text.to_owned(), quote, ..Typed::default() }
                );
            }
        }
        assert_eq!(quoted("~/my fox", None), "~/my\\ fox");
        assert_eq!(quoted("~fox", None), "\\~fox");
        assert_eq!(quoted("gen-tools/deblur-v1", None), "gen-tools/deblur-v1");
    }
}
