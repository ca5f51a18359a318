//! The Rust files of the repository, and their lines of code.

use std::{collections::BTreeSet, path::Path, process::Command};

use anyhow::{Context, Result};

use crate::{process, repository};

/// The folders whose files make up the crates. The others hold tests, benchmarks and examples.
pub const CRATES: [&str; 11] = [
    "src",
    "build",
    "crates/label/src",
    "crates/batch/src",
    "crates/cli/src",
    "crates/painter/src",
    "crates/simulator/src",
    "xtask/src",
    "tools/conformance/src",
    "tools/testbed/src",
    "tools/fuzz/properties/src",
];

/// A Rust file.
pub struct Source {
    /// The path in the repository, with slashes.
    pub path: String,
    pub text: String,
    /// Whether all of it is compiled for tests only.
    pub is_test: bool,
}

impl Source {
    /// Returns the folder of [`CRATES`] that the file is in.
    pub fn crate_folder(&self) -> Option<&'static str> {
        let is_below = |folder: &&str| self.path.strip_prefix(folder).is_some_and(is_rooted);
        CRATES.into_iter().find(|folder| is_below(folder))
    }

    /// Returns the number of lines that hold code: not blank, not a comment, not a unit test.
    pub fn code_lines(&self) -> usize {
        if self.is_test {
            return 0;
        }
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        without_tests(&self.text).into_iter().filter(is_code).count()
    }
}

fn is_rooted(rest: &str) -> bool {
    rest.starts_with('/')
}

/// Returns the paths of the files that git tracks or would add, and that exist.
pub fn files(patterns: &[&str]) -> Result<Vec<String>> {
    let root = repository::root()?;
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]);
    let listed = process::output(list.args(patterns).current_dir(&root))?;
    let paths: BTreeSet<_> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    Ok(paths.into_iter().filter(|path| root.join(path).is_file()).map(str::to_owned).collect())
}

/// Reads all Rust files.
pub fn read() -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in files(&["*.rs"])? {
        let text = repository::read(&path).with_context(|| format!("could not read {path}"))?;
        sources.push(Source { path, text, is_test: false });
    }
    let tests: Vec<_> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        source.is_test = tests.iter().any(|test| {
            source.path == format!("{test}.rs") || source.path.starts_with(&format!("{test}/"))
        });
    }
    Ok(sources)
}

/// Returns the paths, without an extension, of the modules that a file declares for tests only.
fn test_modules(source: &Source) -> Vec<String> {
    let path = Path::new(&source.path);
    let folder = if ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| path.ends_with(name)) {
        path.parent().unwrap_or(path).to_owned()
    } else {
        path.with_extension("")
    };
    let lines: Vec<_> = source.text.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter(|pair| is_test_attribute(pair[0]));
    let names = pairs.filter_map(|pair| {
        let name = pair[1].trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        name.strip_prefix("mod ")?.strip_suffix(';')
    });
    names.map(|name| folder.join(name).to_string_lossy().replace('\\', "/")).collect()
}

fn is_test_attribute(line: &str) -> bool {
    ["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|start| line.starts_with(start))
}

/// Returns the lines outside of items that are compiled for tests only.
///
/// rustfmt ends such an item with a closing brace as far to the right as its attribute, or with a
/// semicolon on its first line.
fn without_tests(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !is_test_attribute(line.trim_start()) {
            kept.push(line);
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let mut is_first = true;
        for line in lines.by_ref() {
            if line.trim_start().starts_with("#[") {
                continue;
            }
            let ends_at_once = is_first && (line.ends_with(';') || line.ends_with('}'));
            let is_end = line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}'));
            if ends_at_once || is_end {
                break;
            }
            is_first = false;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_and_unit_tests_are_not_code() {
        let text = "//! A page.\n\nuse a::B; // why\n\n/// Doc.\nfn f() {\n    // no\n    g();\n\
                    }\n\n\
                    #[cfg(test)]\nuse c::D;\n\n#[cfg(test)]\n#[path = \"x\"]\nmod tests {\n\
                    \x20   fn t() {\n    }\n}\n\nfn h() {}\n";
        let source = Source { path: "src/a.rs".to_owned(), text: text.to_owned(), is_test: false };
        assert_eq!(source.code_lines(), 5);
        assert_eq!(Source { is_test: true, ..source }.code_lines(), 0);
    }

    #[test]
    fn a_module_for_tests_is_known_by_its_declaration() {
        let declared = |path: &str, text: &str| {
            let source = Source { path: path.to_owned(), text: text.to_owned(), is_test: false };
            test_modules(&source)
        };
        let text = "mod a;\n#[cfg(test)]\nmod tests;\nmod b;";
        assert_eq!(declared("src/x/mod.rs", text), ["src/x/tests"]);
        assert_eq!(declared("src/x.rs", text), ["src/x/tests"]);
        assert_eq!(declared("src/lib.rs", text), ["src/tests"]);
    }
}
