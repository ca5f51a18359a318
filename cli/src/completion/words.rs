//! Words as they are typed in bash and zsh, with their quotes and backslashes.

/// The meaning of a character of a command line.
#[derive(Debug, PartialEq)]
enum Part {
    Text,
    /// A quote or a backslash, which is not part of the word's text.
    Syntax,
    Space,
}

/// Reads a command line character by character.
#[derive(Debug, Default)]
struct Reader {
    quote: Option<char>,
    is_escaped: bool,
}

impl Reader {
    fn read(&mut self, c: char) -> Part {
        if self.is_escaped {
            self.is_escaped = false;
            return Part::Text;
        }
        match (self.quote, c) {
            (None | Some('"'), '\\') => self.is_escaped = true,
            (None, '\'' | '"') => self.quote = Some(c),
            (Some(quote), c) if quote == c => self.quote = None,
            (None, c) if c.is_whitespace() => return Part::Space,
            _ => return Part::Text,
        }
        Part::Syntax
    }
}

/// Splits a command line that ends at the cursor. The last word is the one at the cursor, which may
/// be empty. Quotes and backslashes are kept.
pub fn split(line: &str) -> Vec<&str> {
    let mut reader = Reader::default();
    let (mut words, mut start) = (Vec::new(), 0);
    for (at, c) in line.char_indices() {
        if reader.read(c) == Part::Space {
            if start < at {
                words.push(&line[start..at]);
            }
            start = at + c.len_utf8();
        }
    }
    words.push(&line[start..]);
    words
}

/// The text of a word, and the quote that is still open at its end.
pub fn unquote(word: &str) -> (String, Option<char>) {
    let mut reader = Reader::default();
    let text = word.chars().filter(|c| reader.read(*c) != Part::Syntax).collect();
    (text, reader.quote)
}

/// Writes a text so that bash reads it as one word. `quote` is the quote that is open before it.
pub fn quoted(text: &str, quote: Option<char>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_at_the_cursor() {
        for (line, expected) in [
            ("kiln run ", &["kiln", "run", ""][..]),
            ("kiln  generate 'a fox' --mo", &["kiln", "generate", "'a fox'", "--mo"]),
            (r#"kiln e "a \" b" c\ d"#, &["kiln", "e", r#""a \" b""#, r"c\ d"]),
            ("kiln e \"a b", &["kiln", "e", "\"a b"]),
            ("", &[""]),
        ] {
            assert_eq!(split(line), expected, "{line}");
        }
    }

    #[test]
    fn quotes_are_not_part_of_the_text() {
        for (word, text, quote) in [
            (r"my\ fox", "my fox", None),
            ("'a \\ b'c", "a \\ bc", None),
            (r#"--model="ge"#, "--model=ge", Some('"')),
            ("\"it's\"", "it's", None),
            ("'a", "a", Some('\'')),
            ("a\\", "a", None),
        ] {
            assert_eq!(unquote(word), (text.to_owned(), quote), "{word}");
        }
    }

    #[test]
    fn a_quoted_text_is_read_as_the_same_text() {
        for text in ["{base_model}-finetuned", "my fox (1).png", "it's", "$HOME", "`ls`", "a\"\\b"]
        {
            for quote in [None, Some('\''), Some('"')] {
                let open = quote.map(String::from).unwrap_or_default();
                let word = format!("{open}{}{open}", quoted(text, quote));
                assert_eq!(split(&word), [&word], "{word}");
                assert_eq!(unquote(&word), (text.to_owned(), None), "{word}");
            }
        }
        assert_eq!(quoted("~/my fox", None), "~/my\\ fox");
        assert_eq!(quoted("~fox", None), "\\~fox");
        assert_eq!(quoted("gen-tools/deblur-v1", None), "gen-tools/deblur-v1");
    }
}
