//! Rules for one Rust file: its size, its module documentation, and habits that a reader stumbles
//! over.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::sources::Source;

/// The maximum number of lines of a file. A longer one contains two ideas.
const MOST_LINES: usize = 420;

/// The minimum number of lines of a file. A shorter one belongs in another file.
const FEWEST_LINES: usize = 25;

/// Returns whether the file is too long.
pub fn is_long(source: &Source) -> bool {
    source.text.lines().count() > MOST_LINES
}

/// Returns whether the file is a crumb. The roots of modules and crates may be short.
pub fn is_crumb(source: &Source) -> bool {
    let is_root = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| source.path.ends_with(name));
    source.crate_folder().is_some() && !is_root && source.text.lines().count() < FEWEST_LINES
}

/// Returns whether a file of a crate has no documentation of its purpose.
pub fn lacks_documentation(source: &Source) -> bool {
    source.crate_folder().is_some()
        && !source.is_test
        && !["//!", "#![doc ="].iter().any(|start| source.text.starts_with(start))
}

/// Returns the number of `match` expressions on a `bool`, which are clearer as `if`.
pub fn matches_on_bool(source: &Source) -> Result<usize> {
    fn count(tokens: TokenStream) -> usize {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let is_arm = |at: usize| {
            let is_literal = |token: &TokenTree| ["true", "false"].contains(&&*token.to_string());
            let starts = at == 0
                || is_punct(&tokens[at - 1], ',')
                || matches!(&tokens[at - 1], TokenTree::Group(group)
                    if group.delimiter() == Delimiter::Brace);
            let arrow = tokens.get(at + 1).zip(tokens.get(at + 2));
            starts
                && is_literal(&tokens[at])
                && arrow.is_some_and(|(a, b)| is_punct(a, '=') && is_punct(b, '>'))
        };
        let own = usize::from((0..tokens.len()).any(is_arm));
        let groups = tokens.iter().filter_map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        own + groups.map(count).sum::<usize>()
    }
    let tokens = source.text.parse().map_err(|error| anyhow!("{}: {error}", source.path))?;
    Ok(count(tokens))
}

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Returns the lines over 100 characters. Tables in documentation and inline snapshots may have
/// more.
pub fn wide_lines(text: &str) -> Vec<String> {
    let is_free = |line: &str| {
        let line = line.trim_start();
        line.starts_with("/// |") || line.starts_with("//! |") || line.contains("@\"")
    };
    let wide = text.lines().enumerate().filter(|(_, line)| line.chars().count() > 100);
    let wide = wide.filter(|(_, line)| !is_free(line));
    wide.map(|(index, line)| format!("line {}: {line}", index + 1)).collect()
}

/// Returns the files of a crate with a `Display` that prints what `source()` returns, which a
/// program that prints the whole chain would show twice.
pub fn sources_printed_twice(sources: &[&Source]) -> Result<Vec<String>> {
    let mut returned: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut printed: Vec<(String, String, String)> = Vec::new();
    let mut derived = Vec::new();
    for source in sources {
        let file = syn::parse_file(&source.text).map_err(|e| anyhow!("{}: {e}", source.path))?;
        for item in file.items {
            match item {
                syn::Item::Impl(item) => {
                    let name = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
                    let of = text(&item.self_ty);
                    match name.map(|name| name.ident.to_string()).as_deref() {
                        Some("Error") => {
                            returned.entry(of).or_default().extend(source_fields(&item))
                        }
                        Some("Display") => {
                            printed.push((of, text(&item), source.path.clone()));
                        }
                        _ => {}
                    }
                }
                syn::Item::Enum(item) => {
                    let variants = item.variants.iter();
                    if variants
                        .clone()
                        .any(|variant| prints_source(&variant.attrs, &variant.fields))
                    {
                        derived.push(source.path.clone());
                    }
                }
                syn::Item::Struct(item) if prints_source(&item.attrs, &item.fields) => {
                    derived.push(source.path.clone());
                }
                _ => {}
            }
        }
    }
    let is_twice = |(of, display, _): &&(String, String, String)| {
        let named = field_names(display);
        returned.get(of).is_some_and(|fields| fields.iter().any(|field| named.contains(field)))
    };
    Ok(printed.iter().filter(is_twice).map(|(_, _, path)| path.clone()).chain(derived).collect())
}

fn text(tokens: &impl quote::ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

/// Returns the fields that `source()` names.
fn source_fields(item: &syn::ItemImpl) -> Vec<String> {
    let functions = item.items.iter().filter_map(|item| match item {
        syn::ImplItem::Fn(function) if function.sig.ident == "source" => Some(&function.block),
        _ => None,
    });
    field_names(&functions.map(text).collect::<String>())
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
    fn only_a_match_on_a_bool_counts() {
        let count = |text| matches_on_bool(&source(text)).unwrap();
        assert_eq!(count("fn f() { match a { true => 1, false => 2 } }"), 1);
        assert_eq!(
            count(
                "fn f() { g(match a { true => { 1 } false => match b { false => 1, true => 2 } }) }"
            ),
            2
        );
        assert_eq!(count("fn f() { match a { Some(true) => 1, (true, false) => 2, _ => 3 } }"), 0);
    }

    #[test]
    fn a_line_has_at_most_100_characters() {
        let line = "é".repeat(100);
        assert!(wide_lines(&line).is_empty());
        assert_eq!(wide_lines(&format!("a\n{line}.")), [format!("line 2: {line}.")]);
        assert!(wide_lines(&format!("    /// | {line} |\n    @\"{line}\"")).is_empty());
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
    fn crumbs_long_files_and_undocumented_ones_are_found() {
        assert!(is_crumb(&source("a\n")) && !is_crumb(&source(&"a\n".repeat(25))));
        assert!(is_long(&source(&"a\n".repeat(421))) && !is_long(&source(&"a\n".repeat(420))));
        assert!(lacks_documentation(&source("use a;")));
        assert!(!lacks_documentation(&source("//! What it is for.")));
    }
}
