//! `cargo xtask quick`: finds most mistakes of a change in a minute.

use std::{
    collections::BTreeSet,
    path::{self, Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;

use crate::{check, process, repository};

/// The targets whose tests are run, a library among them. Examples have none, and link slowly.
const TARGETS: [&str; 3] = ["--locked", "--bins", "--tests"];

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
        arguments.paths.iter().map(|path| existing(path)).collect::<Result<_>>()?
    };
    let members = members(&root)?;
    let (pages, files): (Vec<_>, Vec<_>) = paths.iter().partition(|path| is_page(&root, path));
    let packages: BTreeSet<_> =
        files.iter().filter_map(|file| package(&root, file, &members)).collect();
    let dependents = dependents(&members, &packages);
    println!("packages: {packages:?}; pages: {}; dependents: {dependents:?}", pages.len());

    step(&root, &["cargo", "fmt", "--all"], &BTreeSet::new())?;
    let is_kept = check::run(&check::Arguments {})? == ExitCode::SUCCESS;
    ensure!(is_kept, "correct what is listed above");
    if !packages.is_empty() {
        // Warnings stay warnings, because other flags would build everything again.
        step(&root, &[&["cargo", "clippy"], &TARGETS[..]].concat(), &packages)?;
    }
    if !dependents.is_empty() {
        step(&root, &["cargo", "check", "--locked"], &dependents)?;
    }
    let tests = [&["cargo", "nextest", "run", "--profile=quick"], &TARGETS[..]].concat();
    if !packages.is_empty() {
        step(&root, &tests, &packages)?;
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
fn changed(root: &Path) -> Result<Vec<PathBuf>> {
    let git = |words: &[&str]| -> Result<Vec<PathBuf>> {
        let output = process::output(process::command(root, &["git"]).args(words))?;
        Ok(output.split_terminator('\0').map(|path| root.join(path)).collect())
    };
    let mut paths = git(&["diff", "--name-only", "-z", "HEAD"])?;
    paths.extend(git(&["ls-files", "--others", "--exclude-standard", "-z"])?);
    if paths.is_empty() {
        paths = git(&["diff", "--name-only", "-z", "HEAD~1", "HEAD"])?;
    }
    Ok(paths)
}

fn existing(path: &Path) -> Result<PathBuf> {
    ensure!(path.exists(), "{} does not exist", path.display());
    path::absolute(path).context("could not find the current directory")
}

/// Whether a file is read by people.
fn is_page(root: &Path, path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
        || path.starts_with(root.join("docs"))
}

/// A package of the workspace.
#[derive(Deserialize)]
struct Member {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `None` for one that is needed for more than tests or the build script.
    kind: Option<String>,
}

fn members(root: &Path) -> Result<Vec<Member>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Member>,
    }
    let words = ["cargo", "metadata", "--no-deps", "--offline", "--format-version=1"];
    let metadata: Metadata =
        serde_json::from_str(&process::output(&mut process::command(root, &words))?)?;
    Ok(metadata.packages)
}

/// Returns the package that a file belongs to.
fn package<'a>(root: &Path, file: &Path, members: &'a [Member]) -> Option<&'a str> {
    // Files beside the packages, such as `.ci`, would belong to that of the root.
    let inside = file.strip_prefix(root).ok()?.to_str()?;
    let is_beside = inside.starts_with('.') || inside == "Cargo.lock";
    let folder = |member: &Member| member.manifest_path.parent().map(Path::to_owned);
    let owners = members.iter().filter_map(|member| Some((folder(member)?, member)));
    let owners = owners.filter(|(folder, _)| !is_beside && file.starts_with(folder));
    Some(&owners.max_by_key(|(folder, _)| folder.as_os_str().len())?.1.name)
}

/// Returns the packages that need one of these for more than its tests, directly or not.
fn dependents<'a>(members: &'a [Member], packages: &BTreeSet<&str>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    loop {
        let needs = |dependency: &Dependency| {
            let name = dependency.name.as_str();
            dependency.kind.is_none() && (packages.contains(name) || found.contains(name))
        };
        let more = members.iter().filter(|member| member.dependencies.iter().any(needs));
        let all: BTreeSet<_> = more.map(|member| member.name.as_str()).collect();
        if all == found {
            break;
        }
        found = all;
    }
    found.retain(|name| !packages.contains(name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_innermost_package() {
        let root = repository::root().unwrap();
        let members = members(&root).unwrap();
        let of = |file| package(&root, &root.join(file), &members);
        assert_eq!(of("src/task/mod.rs"), Some("imagekiln"));
        assert_eq!(of("tests/schemas.rs"), Some("imagekiln"));
        assert_eq!(of("crates/cli/src/main.rs"), Some("imagekiln-cli"));
        assert_eq!(of("client/src/main.rs"), Some("imagekiln"));
        assert_eq!(of("tools/fuzz/properties/src/lib.rs"), Some("imagekiln-fuzz-properties"));
        assert_eq!(of(".ci/run"), None);
        let is_page = |path| is_page(&root, &root.join(path));
        assert!(
            is_page("docs/fox.png") && is_page("crates/cli/README.md") && !is_page("docsrc/a.rs")
        );
    }

    #[test]
    fn dependents_are_found_at_any_depth() {
        let members = members(&repository::root().unwrap()).unwrap();
        let of = |package| dependents(&members, &[package].into());
        let needs = |package, other: &str| of(package).contains(other);
        assert!(needs("imagekiln", "imagekiln-batch") && needs("imagekiln", "imagekiln-cli"));
        assert!(needs("imagekiln-simulator", "imagekiln-cli"));
        assert!(!needs("imagekiln-simulator", "imagekiln-batch"), "only its tests need it");
        assert!(of("xtask").is_empty());
    }
}
