//! Import circles between the parts of a module: the files and folders directly in its folder.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::sources::Source;

/// A module, as the names on the way from the root of its crate.
type Module = Vec<String>;

/// For each module, its parts that import each other, with the file of each import.
type Arrows = BTreeMap<Module, BTreeMap<(String, String), String>>;

/// The parts of a folder that import each other in circles.
#[derive(Debug)]
pub struct Circle {
    pub folder: String,
    /// The imports of which the circles consist: `a -> b (a/file.rs)`.
    pub imports: Vec<String>,
}

/// Returns the circles of a crate, whose files are in a folder.
pub fn of_crate(folder: &str, sources: &[&Source]) -> Result<Vec<Circle>> {
    let circles = arrows(folder, sources)?.into_iter().filter_map(|(module, arrows)| {
        let is_in_circle = |(from, to): &(String, String)| reaches(to, from, &arrows);
        let circle = arrows.iter().filter(|(arrow, _)| is_in_circle(arrow));
        let imports: Vec<_> =
            circle.map(|((from, to), file)| format!("{from} -> {to} ({file})")).collect();
        let folder = [folder.to_owned()].into_iter().chain(module).collect::<Vec<_>>().join("/");
        (!imports.is_empty()).then_some(Circle { folder, imports })
    });
    Ok(circles.collect())
}

fn arrows(folder: &str, sources: &[&Source]) -> Result<Arrows> {
    let mut files = Vec::new();
    for source in sources {
        let below = source.path.strip_prefix(folder).unwrap_or(&source.path);
        let tokens: TokenStream =
            source.text.parse().map_err(|error| anyhow!("{}: {error}", source.path))?;
        files.push((below.trim_start_matches('/'), module_of(below), tokens));
    }
    let modules: BTreeSet<_> = files.iter().map(|(_, module, _)| module.clone()).collect();
    let mut exports = BTreeMap::new();
    for (_, module, tokens) in &files {
        find_exports(tokens.clone(), module, &modules, &mut exports);
    }
    let mut arrows = Arrows::new();
    for (path, module, tokens) in files {
        let mut paths = BTreeSet::new();
        find_paths(tokens, &mut module.clone(), &mut paths);
        for target in paths.into_iter().map(|path| resolve(path, &modules, &exports)) {
            let common = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(common), target.get(common)) {
                let of_folder = arrows.entry(module[..common].to_vec()).or_default();
                of_folder.entry((from.clone(), to.clone())).or_insert_with(|| path.to_owned());
            }
        }
    }
    Ok(arrows)
}

/// Returns the module of a file: `a::b` of `a/b.rs` and `a/b/mod.rs`.
fn module_of(path: &str) -> Module {
    let names = path.trim_start_matches('/').trim_end_matches(".rs").split('/');
    let mut names: Module = names.map(str::to_owned).collect();
    let is_root = |name: &String| ["mod", "lib", "main"].contains(&name.as_str());
    if names.last().is_some_and(is_root) {
        names.pop();
    }
    names
}

/// Collects the absolute paths in code that start with `crate`, `self` or `super`. `module` is
/// that of the code.
fn find_paths(tokens: TokenStream, module: &mut Module, found: &mut BTreeSet<Module>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let TokenTree::Group(group) = &tokens[at] {
            let inner = (at >= 2 && is_ident(&tokens[at - 2], "mod")).then(|| &tokens[at - 1]);
            module.extend(inner.map(ToString::to_string));
            find_paths(group.stream(), module, found);
            module.truncate(module.len() - usize::from(inner.is_some()));
        }
        let starts = ["crate", "self", "super"].iter().any(|name| is_ident(&tokens[at], name));
        // A single colon is that of a type: `x: crate::X`.
        let continues = at > 1 && has_colons(&tokens, at - 2);
        if starts && has_colons(&tokens, at + 1) && !continues {
            find_tree(&tokens[at..], module, found);
        }
        at += 1;
    }
}

/// Collects the paths of a tree such as `crate::{a, b::{C, D}}`, whose names follow `base`.
fn find_tree(tokens: &[TokenTree], base: &[String], found: &mut BTreeSet<Module>) {
    let mut path = base.to_vec();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => match name.to_string().as_str() {
                "crate" => path.clear(),
                "super" => drop(path.pop()),
                "self" => {}
                name => path.push(name.to_owned()),
            },
            Some(TokenTree::Group(list)) if list.delimiter() == Delimiter::Brace => {
                let list: Vec<_> = list.stream().into_iter().collect();
                list.split(|token| is_punct(token, ','))
                    .for_each(|tree| find_tree(tree, &path, found));
                return;
            }
            _ => break,
        }
        if !has_colons(tokens, at + 1) {
            break;
        }
        at += 3;
    }
    found.insert(path);
}

/// Collects what modules re-export: the path of the item for the path that it has in the module.
fn find_exports(
    tokens: TokenStream,
    module: &[String],
    modules: &BTreeSet<Module>,
    exports: &mut BTreeMap<Module, Module>,
) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for item in tokens.split(|token| is_punct(token, ';')) {
        let Some(start) = item.iter().position(|token| is_ident(token, "use")) else { continue };
        let mut paths = BTreeSet::new();
        let tree = &item[start + 1..];
        let first = tree.first().map(ToString::to_string).unwrap_or_default();
        let is_child = modules.contains(&[module, &[first]].concat());
        let base = if is_child { module } else { &[] };
        let is_path = ["crate", "self", "super"]
            .iter()
            .any(|name| tree.first().is_some_and(|token| is_ident(token, name)));
        if is_child {
            find_tree(tree, base, &mut paths);
        } else if is_path {
            find_tree(tree, module, &mut paths);
        }
        for path in paths {
            if let Some(name) = path.last() {
                exports.insert([module, std::slice::from_ref(name)].concat(), path.clone());
            }
        }
    }
}

/// Follows re-exports, and returns the module that the path leads to.
fn resolve(
    mut path: Module,
    modules: &BTreeSet<Module>,
    exports: &BTreeMap<Module, Module>,
) -> Module {
    // Longer chains of re-exports are circles.
    for _ in 0..8 {
        let known = (0..=path.len()).rev().find(|length| modules.contains(&path[..*length]));
        let known = known.unwrap_or(0);
        match path.get(..=known).and_then(|name| exports.get(name)) {
            Some(target) => path = [target, &path[known + 1..]].concat(),
            None => {
                path.truncate(known);
                break;
            }
        }
    }
    path
}

/// Whether `from` is `to`, or imports it through others.
fn reaches(from: &str, to: &str, arrows: &BTreeMap<(String, String), String>) -> bool {
    let mut visited = BTreeSet::from([from]);
    let mut left = vec![from];
    while let Some(part) = left.pop() {
        if part == to {
            return true;
        }
        let next = arrows.keys().filter(|(a, _)| a == part).map(|(_, b)| b.as_str());
        left.extend(next.filter(|next| visited.insert(next)));
    }
    false
}

fn is_ident(token: &TokenTree, text: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == text)
}

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn has_colons(tokens: &[TokenTree], at: usize) -> bool {
    [at, at + 1].iter().all(|at| tokens.get(*at).is_some_and(|token| is_punct(token, ':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source {
            path: format!("x/src/{path}"),
            text: (*text).to_owned(),
            is_test: false,
        };
        let files: Vec<_> = files.iter().map(source).collect();
        let circles = of_crate("x/src", &files.iter().collect::<Vec<_>>()).unwrap();
        let line = |circle: &Circle| format!("{}: {}", circle.folder, circle.imports.join(", "));
        circles.iter().map(line).collect()
    }

    #[test]
    fn every_form_of_an_import_is_found() {
        for import in [
            "use crate::a;",
            "use crate::a::X;",
            "use crate::{b::Y, a::{X, Z}};",
            "pub(crate) use crate::{c, a};",
            "fn f() -> crate::a::X { loop {} }",
            "fn f(_: crate::a::X) {}",
            "fn f() { assert_eq!(1, crate::a::one()); }",
            "use super::super::a::X;",
            "use super::{super::a, Y};",
            "mod tests { use super::super::super::a::X; }",
            "use crate::FromA;",
            "use crate::c::FromA;",
        ] {
            let found = found(&[
                ("lib.rs", "mod a; mod b; mod c; use crate::b; pub use self::a::FromA;"),
                ("a.rs", "use super::b::Y;"),
                ("b/mod.rs", "mod inner;"),
                ("b/inner.rs", import),
                ("c.rs", "pub use crate::{a::FromA, b};"),
            ]);
            let direct = "a -> b (a.rs), b -> a (b/inner.rs)";
            assert!(found.iter().any(|circle| circle.contains(direct)), "{import}: {found:?}");
        }
    }

    #[test]
    fn imports_within_a_part_and_in_one_direction_are_allowed() {
        let files = [
            ("a/mod.rs", "mod inner; use self::inner::X; use crate::b;"),
            ("a/inner.rs", "use super::Y; use crate::a::Z; mod tests { use super::super::b; }"),
            ("b.rs", "use other::a; use self::a; mod tests { use super::a; }"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn circles_of_files_within_a_folder_are_found() {
        let files = [
            ("a/mod.rs", "mod one; mod two; mod three; use one::X;"),
            ("a/one.rs", "use super::two::Y;"),
            ("a/two.rs", "use crate::a::three::Z;"),
            ("a/three.rs", "use super::X;"),
        ];
        let expected = "x/src/a: one -> two (a/one.rs), three -> one (a/three.rs), \
                        two -> three (a/two.rs)";
        assert_eq!(found(&files), [expected]);
    }
}
