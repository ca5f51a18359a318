//! Rules for one Rust file: its size, its lines, and its documentation.

use super::sources::Source;

/// The maximum number of lines of a file. A longer one contains two ideas.
const MOST_LINES: usize = 420;

/// Returns the violations of a file.
pub fn problems(source: &Source) -> Vec<String> {
    let (path, text) = (&source.path, &source.text);
    let mut problems = wide_lines(path, text);
    let lines = text.lines().count();
    if lines > MOST_LINES {
        problems.push(format!("{path}: {lines} lines; split it where its second idea starts"));
    }
    let is_documented = ["//!", "#![doc ="].iter().any(|start| text.starts_with(start));
    if source.crate_folder().is_some() && !source.is_test && !is_documented {
        problems.push(format!("{path}: no `//!`; say what the file is for"));
    }
    problems
}

/// Returns the lines over 100 characters. `cargo fmt` leaves lines alone that hold a string too
/// long to fit. Tables in documentation and snapshots in the source may have more.
pub fn wide_lines(path: &str, text: &str) -> Vec<String> {
    let is_free = |line: &str| {
        let line = line.trim_start();
        ["/// |", "//! |"].iter().any(|start| line.starts_with(start)) || line.contains("@\"")
    };
    let wide = text.lines().enumerate().filter(|(_, line)| line.chars().count() > 100);
    let wide = wide.filter(|(_, line)| !is_free(line));
    wide.map(|(index, line)| format!("{path}:{}: over 100 characters: {line}", index + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { path: "src/a.rs".to_owned(), text: text.to_owned(), is_test: false }
    }

    #[test]
    fn a_line_has_at_most_100_characters() {
        let line = "é".repeat(100);
        assert!(wide_lines("a", &line).is_empty());
        let found = wide_lines("a", &format!("a\n{line}."));
        assert_eq!(found, [format!("a:2: over 100 characters: {line}.")]);
        assert!(wide_lines("a", &format!("    /// | {line} |\n    @\"{line}\"")).is_empty());
    }

    #[test]
    fn long_files_and_undocumented_ones_are_found() {
        let lines = |count| problems(&source(&"//! What it is for.\n".repeat(count)));
        assert_eq!((lines(420).len(), lines(421).len()), (0, 1));
        assert_eq!(problems(&source("use a;")).len(), 1);
    }
}
