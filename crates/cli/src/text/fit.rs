//! Breaks lines between words to fit the width of a terminal, and adapts the help of the parser.

use clap::Command;
use console::{measure_text_width, strip_ansi_codes, truncate_str};

/// The maximum length of a description in `-h`. A longer one is cut at the end of a clause.
/// `--help` shows the whole description.
const LONGEST: usize = 48;

/// The indent of a description that starts on the line below its option.
const BELOW: usize = 10;

/// The escape sequence that ends all colours.
const RESET: &str = "\u{1b}[0m";

/// Prepares the help of a command and of its subcommands. Keeps the parser from breaking lines,
/// because it does not indent the rest of a line; [`coloured`] breaks them instead. Shortens the
/// descriptions in `-h`.
pub fn fitting(command: Command) -> Command {
    let command = command.term_width(0).mut_args(|arg| {
        let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
        let short = brief(&help);
        if arg.get_long_help().is_some() || short.len() == help.len() {
            return arg;
        }
        arg.help(short.to_owned()).long_help(help)
    });
    command.mut_subcommands(fitting)
}

/// The first clauses of a description, as many as fit.
pub fn brief(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    // Leave out a part in brackets first, such as the default, which matters least.
    let text = text.split(" [").next().unwrap_or_default();
    if text.len() <= LONGEST {
        return text;
    }
    let ends = [": ", "; ", ". "].into_iter().flat_map(|end| text.match_indices(end));
    let mut ends: Vec<usize> = ends.map(|(at, _)| at).collect();
    ends.sort_unstable();
    let fitting = ends.iter().rev().find(|end| **end <= LONGEST).or(ends.first());
    fitting.and_then(|end| text.get(..*end)).unwrap_or(text)
}

/// Breaks the lines of help or of an error of the parser, for a terminal of this width. Colours end
/// with each line, and begin again on the next one.
pub fn coloured(text: &str, width: usize) -> String {
    let mut colours = String::new();
    let text = wrapped(text, Some(width));
    let lines = text.split('\n').map(|line| {
        let line = format!("{colours}{line}");
        let open = line.rsplit_once(RESET).map_or(line.as_str(), |(_, open)| open);
        let escapes = open.split('\u{1b}').skip(1).filter_map(|code| code.split_once('m'));
        colours = escapes.map(|(code, _)| format!("\u{1b}{code}m")).collect();
        if colours.is_empty() { line } else { line + RESET }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Breaks the lines of a text. The rest of a broken line is indented like the text in its last
/// column.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let lines = text.split('\n').map(|line| {
        // People copy commands, so do not break a command into two lines.
        if measure_text_width(line) <= width || line.starts_with("  kiln ") {
            return line.to_owned();
        }
        let (before, indent) = indents(&strip_ansi_codes(line), width);
        let places = line.char_indices().map(|(at, _)| at);
        let text = places.into_iter().find(|at| measure_text_width(&line[..*at]) >= before);
        let (start, text) = line.split_at(text.unwrap_or_default());
        let next = format!("\n{}", " ".repeat(indent));
        let text = wrap(text, width.saturating_sub(indent)).join(&next);
        if indent < before {
            start.trim_end().to_owned() + &next + &text
        } else {
            start.to_owned() + &text
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the width of the part before the text of a line (spaces, dashes, a label, or other
/// columns), and the indent for the rest of the line. The indent is smaller if the columns leave
/// too little room for text.
fn indents(line: &str, width: usize) -> (usize, usize) {
    let text = line.trim_start_matches([' ', '-']);
    let start = line.len() - text.len();
    let label = ["tip: ", "Usage: "].into_iter().find(|label| text.starts_with(label));
    let columns = line.char_indices().skip(start + 1).filter(|(_, c)| *c != ' ');
    let columns = columns.map(|(at, _)| &line[..at]).filter(|columns| columns.ends_with("  "));
    let columns: Vec<_> = columns.map(measure_text_width).collect();
    let fitting = columns.iter().rev().find(|columns| **columns * 5 <= width * 3);
    match (fitting, columns.first()) {
        (Some(columns), _) => (*columns, *columns),
        (None, Some(columns)) => (*columns, BELOW),
        (None, None) => [start + label.map_or(0, str::len); 2].into(),
    }
}

/// Breaks a text into lines of at most this width.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_broken = false;
    for word in words(text, width) {
        match lines.last_mut() {
            Some(line) if measure_text_width(line) + 1 + measure_text_width(word) <= width => {
                *line += " ";
                *line += word;
            }
            _ => {
                let parts = broken(word, width);
                is_broken = parts.len() > 1;
                lines.extend(parts);
            }
        }
    }
    if let [.., before, last] = &mut *lines
        && !is_broken
    {
        join_alone(before, last, width);
    }
    lines
}

/// If the last line is a single word, moves the last word of the line before it to the last line.
fn join_alone(before: &mut String, last: &mut String, width: usize) {
    let Some((rest, moved)) = before.rsplit_once(' ') else { return };
    let joined = format!("{moved} {last}");
    // Do not separate the end of a quoted command from its beginning.
    let is_whole = moved.matches(['`', '\'']).count() % 2 == 0;
    let fits = is_whole && measure_text_width(&joined) <= width;
    if fits && rest.contains(' ') && !last.contains(' ') {
        *last = joined;
        *before = rest.to_owned();
    }
}

/// Splits a text into words. A quoted command counts as one word if it fits on a line.
fn words(text: &str, width: usize) -> Vec<&str> {
    let (mut words, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        match quote {
            None if c == '`' || text[at..].starts_with("'kiln ") => quote = Some(c),
            Some(open) if open == c => quote = None,
            None if c == ' ' => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    let parts = words.into_iter().map(|word| {
        if measure_text_width(word) > width { word.split(' ').collect() } else { vec![word] }
    });
    parts.collect::<Vec<_>>().concat()
}

/// Splits a word that does not fit on a line, after punctuation if possible.
fn broken(mut word: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    loop {
        let fitting = truncate_str(word, width, "");
        if fitting.is_empty() || fitting.len() == word.len() {
            parts.push(word.to_owned());
            return parts;
        }
        let punctuation = fitting.rfind(|c: char| c.is_ascii_punctuation());
        let (part, rest) = word.split_at(punctuation.map_or(fitting.len(), |at| at + 1));
        parts.push(part.to_owned());
        word = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_wrapped_between_words_and_keeps_its_indent() {
        assert_eq!(wrapped("a b\n  - one two", Some(9)), "a b\n  - one\n    two");
        assert_eq!(wrapped("/one/two/three_four", Some(9)), "/one/two/\nthree_\nfour");
        assert_eq!(wrapped("a  b", Some(9)), "a  b");
        assert_eq!(wrapped("狐", Some(0)), "狐");
        assert_eq!(wrapped("  name  what it is", Some(14)), "  name  what\n        it is");
        let below = "  --name <VALUE>\n          one two\n          three four";
        assert_eq!(wrapped("  --name <VALUE>  one two three four", Some(21)), below);
        assert_eq!(wrapped("  tip: one two", Some(11)), "  tip: one\n       two");
        assert_eq!(wrapped("one `kiln -h` two", Some(9)), "one\n`kiln -h`\ntwo");
    }

    #[test]
    fn no_word_is_alone_on_the_last_line() {
        assert_eq!(wrapped("one two three four", Some(15)), "one two\nthree four");
        assert_eq!(wrapped("one two three", Some(8)), "one two\nthree", "another would be alone");
        assert_eq!(wrapped("one two `kiln a` or", Some(16)), "one two `kiln a`\nor");
    }

    #[test]
    fn each_line_ends_its_colours() {
        let text = "\u{1b}[1m\u{1b}[4mone two\u{1b}[0m three";
        let expected = "\u{1b}[1m\u{1b}[4mone\u{1b}[0m\n\u{1b}[1m\u{1b}[4mtwo\u{1b}[0m\nthree";
        assert_eq!(coloured(text, 5), expected);
    }

    #[test]
    fn a_description_is_cut_after_a_clause() {
        assert_eq!(brief("The number of pictures; 1 to 9"), "The number of pictures; 1 to 9");
        let text = "The number of pictures; each is submitted: as a task [default: 1]";
        assert_eq!(brief(text), "The number of pictures; each is submitted");
    }
}
