//! Import cycles between the parts of a crate: the files and folders directly in its `src`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

use crate::repository;

/// The crates whose parts must not import each other in a cycle.
const SOURCES: [&str; 1] = ["simulator/src"];

/// For each part, the parts that it imports, with the file that does.
type Imports = BTreeMap<String, BTreeMap<String, PathBuf>>;

/// Returns the import cycles of the repository.
pub fn cycles() -> Result<Vec<String>> {
    let mut cycles = Vec::new();
    for source in SOURCES {
        let folder = repository::root()?.join(source);
        let mut files = Vec::new();
        read_files(&folder, &mut files)?;
        let relative = |(path, text): (PathBuf, String)| {
            (path.strip_prefix(&folder).map(Path::to_owned).unwrap_or(path), text)
        };
        let files: Vec<_> = files.into_iter().map(relative).collect();
        let cycle = cycle(&imports(&files).with_context(|| format!("could not parse {source}"))?);
        cycles.extend(cycle.map(|cycle| format!("{source}: {cycle}")));
    }
    Ok(cycles)
}

fn read_files(folder: &Path, files: &mut Vec<(PathBuf, String)>) -> Result<()> {
    let failed = |path: &Path| format!("could not read {}", path.display());
    for entry in fs::read_dir(folder).with_context(|| failed(folder))? {
        let path = entry?.path();
        if path.is_dir() {
            read_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| failed(&path))?;
            files.push((path, text));
        }
    }
    Ok(())
}

fn imports(files: &[(PathBuf, String)]) -> Result<Imports> {
    let part = |path: &Path| {
        let first = path.components().next()?.as_os_str().to_str()?;
        Some(first.strip_suffix(".rs").unwrap_or(first).to_owned())
    };
    let parts: BTreeSet<_> = files.iter().filter_map(|(path, _)| part(path)).collect();
    let mut imports = Imports::new();
    for (path, text) in files {
        // The root of the crate declares all parts and imports from any of them.
        let Some(part) = part(path).filter(|part| part != "lib") else { continue };
        let tokens = text
            .parse::<TokenStream>()
            .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        let mut names = BTreeSet::new();
        find_names(tokens, depth(path), &mut names);
        let imported = imports.entry(part.clone()).or_default();
        for name in names.into_iter().filter(|name| *name != part && parts.contains(name)) {
            imported.entry(name).or_insert_with(|| path.clone());
        }
    }
    Ok(imports)
}

/// The number of modules from the root of the crate to that of a file: 1 for `a.rs` and `a/mod.rs`.
fn depth(path: &Path) -> usize {
    path.components().count() - usize::from(path.ends_with("mod.rs"))
}

/// Collects the names that follow the root of the crate in paths: `a` and `b` in `crate::a::X`,
/// `crate::{a, b::Y}`, or with `super` instead of `crate` in a module directly below the root.
fn find_names(tokens: TokenStream, depth: usize, names: &mut BTreeSet<String>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is = |at: usize, text: &str| {
        tokens
            .get(at)
            .is_some_and(|token| !matches!(token, TokenTree::Group(_)) && token.to_string() == text)
    };
    let follows = |at: usize| is(at, ":") && is(at + 1, ":");
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let mut after = at + 1;
        let mut above = usize::from(is(at, "super"));
        while above > 0 && follows(after) && is(after + 2, "super") {
            above += 1;
            after += 3;
        }
        if (is(at, "crate") || (above > 0 && above == depth)) && follows(after) {
            after += 2;
            match tokens.get(after) {
                Some(TokenTree::Ident(name)) => {
                    names.insert(name.to_string());
                }
                Some(TokenTree::Group(list)) => find_first_names(list.stream(), names),
                _ => {}
            }
        } else if let TokenTree::Group(group) = token {
            let is_module = at >= 2 && is(at - 2, "mod");
            find_names(group.stream(), depth + usize::from(is_module), names);
        }
        at = after;
    }
}

/// Collects the first name of each path in a list.
fn find_first_names(list: TokenStream, names: &mut BTreeSet<String>) {
    let mut is_first = true;
    for token in list {
        if let TokenTree::Ident(name) = &token
            && is_first
        {
            names.insert(name.to_string());
        }
        is_first = matches!(&token, TokenTree::Punct(comma) if comma.as_char() == ',');
    }
}

/// Returns a cycle, if there is one: each part, and the file that imports the next part.
fn cycle(imports: &Imports) -> Option<String> {
    let mut finished = BTreeSet::new();
    imports.keys().find_map(|part| visit(part, imports, &mut Vec::new(), &mut finished))
}

fn visit<'a>(
    part: &'a str,
    imports: &'a Imports,
    path: &mut Vec<(&'a str, &'a Path)>,
    finished: &mut BTreeSet<&'a str>,
) -> Option<String> {
    if let Some(start) = path.iter().position(|(visited, _)| *visited == part) {
        let mut text = "the parts import each other in a cycle: ".to_owned();
        for (part, file) in &path[start..] {
            text += &format!("{part} ({}) -> ", file.display());
        }
        return Some(text + part);
    }
    if finished.contains(part) {
        return None;
    }
    for (imported, file) in imports.get(part).into_iter().flatten() {
        path.push((part, file));
        let found = visit(imported, imports, path, finished);
        if found.is_some() {
            return found;
        }
        path.pop();
    }
    finished.insert(part);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        cycle(&imports(&files).unwrap())
    }

    #[test]
    fn every_form_of_an_import_is_found() {
        for import in [
            "use crate::a;",
            "use crate::a::X;",
            "use crate::{b::Y, a::{X, Z}};",
            "pub(crate) use crate::{c, a};",
            "fn f() -> crate::a::X { todo!() }",
            "fn f() { assert_eq!(1, crate::a::one()); }",
            "use super::super::a::X;",
            "mod tests { use super::super::super::a::X; }",
        ] {
            let found = found(&[
                ("lib.rs", "mod a; mod b; mod c; use crate::b; use crate::a;"),
                ("a.rs", "use super::b::Y;"),
                ("b/mod.rs", "mod inner;"),
                ("b/inner.rs", import),
                ("c.rs", "use crate::{a, b};"),
            ]);
            let expected =
                "the parts import each other in a cycle: a (a.rs) -> b (b/inner.rs) -> a";
            assert_eq!(found.as_deref(), Some(expected), "{import}");
        }
    }

    #[test]
    fn imports_within_a_part_and_in_one_direction_are_allowed() {
        assert_eq!(
            found(&[
                ("a/mod.rs", "mod inner; use self::inner::X; use crate::b;"),
                ("a/inner.rs", "use super::Y; use crate::a::Z; mod tests { use super::super::b; }"),
                ("b.rs", "use other::a; use self::a; mod tests { use super::a; }"),
            ]),
            None
        );
    }

    #[test]
    fn the_parts_of_this_repository_have_no_cycle() {
        assert_eq!(cycles().unwrap(), Vec::<String>::new());
    }
}
