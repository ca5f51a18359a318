//! Rules for one Rust file: its size, its lines, its documentation, and its error messages.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use syn::Item;

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

/// Returns the files of a crate with a `Display` that prints what `source()` returns, which a
/// program that prints the whole chain would show twice.
pub fn sources_printed_twice(sources: &[&Source]) -> Result<Vec<String>> {
    let (mut returned, mut printed, mut found) = (BTreeSet::new(), Vec::new(), Vec::new());
    for source in sources {
        let file = syn::parse_file(&source.text).map_err(|e| anyhow!("{}: {e}", source.path))?;
        for item in file.items {
            let derived: Vec<_> = match item {
                Item::Impl(item) => {
                    let name = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
                    let fields = field_names(&text(&item)).into_iter();
                    let fields = fields.map(|field| (text(&item.self_ty), field));
                    match name.map(|name| name.ident.to_string()).as_deref() {
                        Some("Error") => returned.extend(fields),
                        Some("Display") => printed.extend(fields.map(|it| (it, &source.path))),
                        _ => {}
                    }
                    continue;
                }
                Item::Enum(item) => item
                    .variants
                    .into_iter()
                    .map(|variant| (variant.attrs, variant.fields))
                    .collect(),
                Item::Struct(item) => vec![(item.attrs, item.fields)],
                _ => continue,
            };
            let printing = derived.iter().filter(|(attributes, it)| prints_source(attributes, it));
            found.extend(printing.map(|_| source.path.clone()));
        }
    }
    let twice = printed.into_iter().filter(|(field, _)| returned.contains(field));
    found.extend(twice.map(|(_, path)| path.clone()));
    found.dedup();
    Ok(found)
}

fn text(tokens: &impl quote::ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

/// Returns the fields of `self` in the text of tokens: `0.source` of `self . 0 . source . get ()`.
fn field_names(tokens: &str) -> Vec<String> {
    let dense: String = tokens.split_whitespace().collect();
    let names = dense.split("self.").skip(1).map(|rest| {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let (path, after) = rest.split_at(rest.find(|c| !is_path(c)).unwrap_or(rest.len()));
        // What a parenthesis follows is a method.
        match path.rsplit_once('.') {
            Some((field, _)) if after.starts_with('(') => field,
            None if after.starts_with('(') => "",
            _ => path,
        }
        .to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether `thiserror` is told to print a field and to return it as the source.
fn prints_source(attributes: &[syn::Attribute], fields: &syn::Fields) -> bool {
    let message = attributes.iter().find(|attribute| attribute.path().is_ident("error"));
    let Some(message) = message.map(text) else { return false };
    fields.iter().enumerate().any(|(index, field)| {
        let name = field.ident.as_ref().map_or(index.to_string(), ToString::to_string);
        let is_source = name == "source"
            || field.attrs.iter().any(|attribute| {
                attribute.path().is_ident("source") || attribute.path().is_ident("from")
            });
        is_source
            && ["{NAME}", "{NAME:"]
                .iter()
                .any(|form| message.contains(&form.replace("NAME", &name)))
    })
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
    fn a_display_that_prints_its_source_is_found() {
        let twice = |text: &str| !sources_printed_twice(&[&source(text)]).unwrap().is_empty();
        let error = "impl error::Error for E { fn source(&self) -> X { self.cause.as_deref() } }";
        let with = |body: &str| format!("{error} impl fmt::Display for E {{ {body} }}");
        assert!(twice(&with("fn fmt(&self) { write!(f, \"a: {}\", self.cause ) }")));
        assert!(!twice(&with("fn fmt(&self) { f.write_str(&self.message) }")));
        assert!(twice("enum E { #[error(\"a: {0}\")] A(#[from] io::Error) }"));
        assert!(twice("#[error(\"a: {source}\")] struct E { source: io::Error }"));
        assert!(!twice("enum E { #[error(\"a {0}\")] A(String, #[source] io::Error) }"));
    }

    #[test]
    fn long_files_and_undocumented_ones_are_found() {
        let lines = |count| problems(&source(&"//! What it is for.\n".repeat(count)));
        assert_eq!((lines(420).len(), lines(421).len()), (0, 1));
        assert_eq!(problems(&source("use a;")).len(), 1);
    }
}
