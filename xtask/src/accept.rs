//! `cargo xtask accept`: takes new snapshots by name, after a review.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{process, repository};

/// A snapshot that a test has written beside the one that it replaces.
const NEW: &str = ".snap.new";
/// New snapshots in the source of tests.
const INLINE: &str = ".pending-snap";

/// The number of lines of a difference that are shown.
const SHORT: usize = 24;

/// Replaces snapshots with the new ones that tests or `cargo xtask regenerate` have written.
/// Without names, shows which there are, and how they differ
#[derive(Args)]
pub struct Arguments {
    /// The names of snapshots, such as `help_batch_run` for
    /// `cli/tests/it/snapshots/it__help__help_batch_run.snap.new`
    names: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let pending = pending()?;
    if arguments.names.is_empty() {
        show(&pending)?;
        return Ok(if pending.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    // All names are looked up before a file is replaced.
    let chosen = arguments.names.iter().map(|name| named(name, &pending));
    for path in chosen.collect::<Result<Vec<_>>>()? {
        let accepted = path.with_extension("");
        let snapshot = Snapshot::read(path)?;
        fs::write(&accepted, snapshot.accepted())
            .with_context(|| format!("could not write {}", accepted.display()))?;
        fs::remove_file(path).with_context(|| format!("could not remove {}", path.display()))?;
        println!("accepted: {}", accepted.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the files of the repository that hold new snapshots.
pub fn pending() -> Result<Vec<PathBuf>> {
    let root = repository::root()?;
    let list = ["git", "ls-files", "--others", "-z", "--exclude=/target"];
    let files = process::output(&mut process::command(&root, &list))?;
    let is_new = |file: &&str| file.ends_with(NEW) || file.ends_with(INLINE);
    Ok(files.split('\0').filter(is_new).map(|file| root.join(file)).collect())
}

/// Prints the changes of the new snapshots.
pub fn show(pending: &[PathBuf]) -> Result<()> {
    for path in pending {
        println!("\n== {}", short_name(path));
        if path.to_string_lossy().ends_with(INLINE) {
            println!("a snapshot in the source: `cargo insta review`, or edit it there");
            continue;
        }
        let lines = difference(path)?;
        for line in lines.iter().take(SHORT) {
            println!("{line}");
        }
        if lines.len() > SHORT {
            println!("... and {} lines more: {}", lines.len() - SHORT, path.display());
        }
    }
    if !pending.is_empty() {
        println!("\nafter a review: cargo xtask accept NAME...");
    }
    Ok(())
}

/// Returns the lines by which a new snapshot differs from the one in force.
fn difference(new: &Path) -> Result<Vec<String>> {
    let folder = tempfile::tempdir().context("could not create a folder")?;
    let old = new.with_extension("");
    let old = if old.exists() { Snapshot::read(&old)?.body } else { String::new() };
    fs::write(folder.path().join("old"), old)?;
    fs::write(folder.path().join("new"), Snapshot::read(new)?.body)?;
    let mut diff = process::command(folder.path(), &["git", "diff", "--no-index", "--no-color"]);
    // Git reports a difference by its exit code.
    let output =
        diff.args(["--unified=1", "old", "new"]).output().context("could not start git")?;
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(lines.lines().skip_while(|line| !line.starts_with("@@")).map(str::to_owned).collect())
}

/// Returns the new snapshot with a name.
fn named<'a>(name: &str, pending: &'a [PathBuf]) -> Result<&'a PathBuf> {
    let is_named = |path: &&PathBuf| {
        let long = path.file_name().unwrap_or_default().to_string_lossy();
        long.strip_suffix(NEW).is_some_and(|long| long == name || short_name(path) == name)
    };
    let found: Vec<_> = pending.iter().filter(is_named).collect();
    match found[..] {
        [path] => Ok(path),
        [] => bail!("no test has written a new snapshot {name}: `cargo xtask accept` lists them"),
        _ => bail!("{} new snapshots are named {name}: use the names of their files", found.len()),
    }
}

/// The name that the test gave: `help_run` for `it__help__help_run.snap.new`.
fn short_name(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let file = file.strip_suffix(NEW).unwrap_or(&file);
    file.rsplit_once("__").map_or(file, |(_, name)| name).to_owned()
}

/// A file of insta: lines about the test between two `---`, and what is compared.
struct Snapshot {
    about: String,
    body: String,
}

impl Snapshot {
    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("could not read {}", path.display()))?;
        let parts = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        ensure!(parts.is_some(), "{} is not a snapshot of insta", path.display());
        let (about, body) = parts.unwrap_or_default();
        Ok(Self { about: about.to_owned(), body: body.to_owned() })
    }

    /// Returns the file in force. Without the line number, which changes with every edit of a test.
    fn accepted(&self) -> String {
        let about = self.about.lines().filter(|line| !line.starts_with("assertion_line:"));
        let about: String = about.map(|line| format!("{line}\n")).collect();
        format!("---\n{about}---\n{}", self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_found_by_its_short_and_its_long_name() {
        let pending =
            ["a/it__help__run.snap.new", "a/it__errors__bad.snap.new", "b/it__x__bad.snap.new"]
                .map(PathBuf::from);
        assert_eq!(named("run", &pending).unwrap(), &pending[0]);
        assert_eq!(named("it__x__bad", &pending).unwrap(), &pending[2]);
        for (name, problem) in [("bad", "2 new snapshots"), ("it", "no test has written")] {
            let error = named(name, &pending).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_difference_is_that_of_the_bodies() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("it__a.snap.new");
        fs::write(&new, "---\nsource: a.rs\nassertion_line: 7\n---\none\n3\n").unwrap();
        assert_eq!(difference(&new).unwrap()[1..], ["+one", "+3"]);
        fs::write(new.with_extension(""), "---\nsource: a.rs\n---\none\n2\n").unwrap();
        assert_eq!(difference(&new).unwrap()[1..], [" one", "-2", "+3"]);
        let accepted = Snapshot::read(&new).unwrap().accepted();
        assert_eq!(accepted, "---\nsource: a.rs\n---\none\n3\n");
    }
}
