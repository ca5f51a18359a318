//! `cargo xtask quick`: finds most mistakes of a change in a minute.

use std::{
    collections::BTreeSet,
    path::{self, Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::{check, process, repository};

/// The targets whose tests are run. Examples have none, and take long to link.
const TARGETS: [&str; 4] = ["--locked", "--lib", "--bins", "--tests"];

/// The tests that compare pages with the code or run their commands, and the packages they are in.
const PAGES: [&str; 3] = ["imagekiln", "imagekiln-cli", "imagekiln-simulator"];
const OF_PAGES: &str = "test(/(^|::)(book|documented|front_pages|testing)::/)";

/// Formats, lints and tests the packages that a change is in, only type-checks those that depend on
/// them, and compares the documents with the code if one has changed. Needs cargo-nextest
#[derive(Args)]
pub struct Arguments {
    /// Files or folders of the change [default: what is not committed, or else the last commit]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let paths = if arguments.paths.is_empty() {
        changed(&root)?
    } else {
        arguments.paths.iter().map(|path| inside(&root, path)).collect::<Result<_>>()?
    };
    let packages = packages(&root)?;
    let (pages, files): (Vec<_>, Vec<_>) = paths.iter().partition(|path| is_page(path));
    let parts: BTreeSet<_> = files.iter().filter_map(|file| part(file, &packages)).collect();
    let dependents = dependents(&parts, &packages);
    println!("packages: {parts:?}; pages: {}; dependents: {dependents:?}", pages.len());

    step(&root, &["cargo", "fmt", "--all"], &BTreeSet::new())?;
    let is_kept = check::run(&check::Arguments {})? == ExitCode::SUCCESS;
    ensure!(is_kept, "correct what is listed above");
    if !parts.is_empty() {
        // Warnings stay warnings, because other flags would build everything again.
        step(&root, &[&["cargo", "clippy"], &TARGETS[..]].concat(), &parts)?;
    }
    if !dependents.is_empty() {
        step(&root, &["cargo", "check", "--locked"], &dependents)?;
    }
    let tests = [&["cargo", "nextest", "run", "--profile=quick"], &TARGETS[..]].concat();
    if !parts.is_empty() {
        step(&root, &tests, &parts)?;
    }
    if !pages.is_empty() {
        step(&root, &[&tests[..], &["-E", OF_PAGES]].concat(), &PAGES.into())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a command of Cargo for packages.
#[expect(clippy::disallowed_methods, reason = "a person waits on the real clock")]
fn step(root: &Path, words: &[&str], packages: &BTreeSet<&str>) -> Result<()> {
    let mut command = process::command(root, words);
    command.args(packages.iter().map(|name| format!("--package={name}")));
    println!("\n== {} {}", words.join(" "), packages.iter().copied().collect::<Vec<_>>().join(" "));
    let start = Instant::now();
    process::succeed(&mut command)?;
    println!("== {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the files that are not committed, or else those that the last commit changed.
fn changed(root: &Path) -> Result<Vec<String>> {
    let git = |words: &[&str]| -> Result<Vec<String>> {
        let output = process::output(process::command(root, &["git"]).args(words))?;
        Ok(output.split_terminator('\0').map(str::to_owned).collect())
    };
    let mut paths = git(&["diff", "--name-only", "-z", "HEAD"])?;
    paths.extend(git(&["ls-files", "--others", "--exclude-standard", "-z"])?);
    if paths.is_empty() {
        paths = git(&["diff", "--name-only", "-z", "HEAD~1", "HEAD"])?;
    }
    Ok(paths)
}

/// Returns the path in the repository, with slashes.
fn inside(root: &Path, path: &Path) -> Result<String> {
    let absolute = path::absolute(path).context("could not find the current directory")?;
    ensure!(absolute.exists(), "{} does not exist", path.display());
    let inside = absolute.strip_prefix(root);
    let inside = inside.with_context(|| format!("{} is not in the repository", path.display()))?;
    Ok(inside
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/"))
}

/// Whether a file is read by people.
fn is_page(path: &str) -> bool {
    path.ends_with(".md") || path == "docs" || path.starts_with("docs/")
}

/// A package of the workspace.
struct Package {
    name: String,
    /// Its folder in the repository, which is empty for that of the root.
    folder: String,
    /// Packages that it needs for more than its tests.
    needs: Vec<String>,
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    let words = ["cargo", "metadata", "--no-deps", "--offline", "--format-version=1"];
    let metadata: Value =
        serde_json::from_str(&process::output(&mut process::command(root, &words))?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]).into_iter().map(|package| {
        let folder = PathBuf::from(text(&package["manifest_path"]));
        let needs = list(&package["dependencies"]).into_iter();
        let needs = needs.filter(|need| need["path"].is_string() && need["kind"].is_null());
        Ok(Package {
            name: text(&package["name"]),
            folder: inside(root, folder.parent().unwrap_or(root))?,
            needs: needs.map(|need| text(&need["name"])).collect(),
        })
    });
    packages.collect()
}

/// Returns the package that a file belongs to.
fn part<'a>(file: &str, packages: &'a [Package]) -> Option<&'a str> {
    let depth = |package: &&Package| package.folder.len();
    let is_inside = |package: &&Package| Path::new(file).starts_with(&package.folder);
    // Files beside the packages, such as `.ci`, would belong to that of the root.
    let is_beside = file.starts_with('.') || file == "Cargo.lock";
    let package = packages.iter().filter(is_inside).max_by_key(depth)?;
    (!is_beside).then_some(&package.name)
}

/// Returns the packages that need one of these, directly or not.
fn dependents<'a>(parts: &BTreeSet<&'a str>, packages: &'a [Package]) -> BTreeSet<&'a str> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    loop {
        let is_reached =
            |name: &String| parts.contains(name.as_str()) || found.contains(name.as_str());
        let next = packages.iter().filter(|package| package.needs.iter().any(is_reached));
        let next: BTreeSet<_> = next.map(|package| package.name.as_str()).collect();
        if next == found {
            return &found - parts;
        }
        found = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_innermost_package() {
        let packages = packages(&repository::root().unwrap()).unwrap();
        let of = |file| part(file, &packages);
        assert_eq!(of("src/task/mod.rs"), Some("imagekiln"));
        assert_eq!(of("tests/schemas.rs"), Some("imagekiln"));
        assert_eq!(of("crates/cli/src/main.rs"), Some("imagekiln-cli"));
        assert_eq!(of("client/src/main.rs"), Some("imagekiln"));
        assert_eq!(of("tools/fuzz/properties/src/lib.rs"), Some("imagekiln-fuzz-properties"));
        assert_eq!(of(".ci/run"), None);
        assert!(
            is_page("docs/fox.png") && is_page("crates/cli/README.md") && !is_page("docsrc/a.rs")
        );
    }

    #[test]
    fn dependents_are_found_at_any_depth() {
        let packages = packages(&repository::root().unwrap()).unwrap();
        let of = |part| dependents(&[part].into(), &packages);
        assert!(of("imagekiln").is_superset(&["imagekiln-batch", "imagekiln-cli"].into()));
        assert!(of("imagekiln-simulator").contains("imagekiln-cli"));
        assert!(!of("imagekiln-simulator").contains("imagekiln-batch"), "only its tests need it");
        assert!(of("xtask").is_empty());
    }
}
