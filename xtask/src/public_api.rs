//! `cargo xtask public-api`: compares the public interfaces with those of the last release.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    process::{command, exit_code, output, status},
    repository,
};

/// The commit of 0.1.0, which is the baseline until a release has a tag.
const FIRST: &str = "7f483e4152b12f87fdedf07d67b95be900d4556f";

/// The libraries.
const LIBRARIES: [&str; 3] = ["imagekiln", "imagekiln-simulator", "imagekiln-batch"];

/// Compares the public interface of every library with that of the last release, and fails if the
/// version does not allow a difference. Needs `cargo install cargo-semver-checks`
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let baseline = baseline(&root)?;
    println!("comparing with {baseline}");
    let mut command = command(&root, &["cargo", "semver-checks", "--baseline-rev", &baseline]);
    command.args(LIBRARIES.map(|name| format!("--package={name}")));
    Ok(exit_code(status(&mut command)?))
}

/// Returns the tag of the last release before `HEAD`, or the first commit to compare with.
fn baseline(root: &Path) -> Result<String> {
    let git = |words: &[&str]| output(command(root, &["git"]).args(words));
    let is_shallow = git(&["rev-parse", "--is-shallow-repository"])?.trim() == "true";
    ensure!(
        !is_shallow,
        "this clone has no history to find the last release in: run `git fetch --unshallow --tags`"
    );
    let tag = git(&["describe", "--tags", "--abbrev=0", "--match=v[0-9]*"]);
    let baseline = tag.map_or_else(|_| FIRST.to_owned(), |tag| tag.trim().to_owned());
    git(&["cat-file", "-e", &format!("{baseline}^{{commit}}")]).with_context(|| {
        format!("this clone has no commit {baseline}: run `git fetch --tags origin {baseline}`")
    })?;
    Ok(baseline)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_baseline_is_the_last_tag_before_this_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let git = |words: &str| {
            let identity = ["-c", "user.name=n", "-c", "user.email=e"];
            let words = words.split(' ');
            output(command(path, &["git"]).args(identity).args(words)).unwrap()
        };
        let error = |path: &Path| format!("{:#}", baseline(path).unwrap_err());
        git("init --quiet");
        git("commit --quiet --allow-empty --message first");
        assert!(error(path).starts_with(&format!("this clone has no commit {FIRST}: run `git ")));
        for tag in ["v0.1.0", "v0.2.0", "nightly"] {
            git("commit --quiet --allow-empty --message next");
            git(&format!("tag {tag}"));
        }
        assert_eq!(baseline(path).unwrap(), "v0.2.0");
        git("checkout --quiet v0.1.0");
        assert_eq!(baseline(path).unwrap(), "v0.1.0");

        let shallow = path.join("shallow");
        fs::create_dir(&shallow).unwrap();
        git(&format!("clone --quiet --depth=1 file://{} shallow", path.display()));
        assert!(error(&shallow).ends_with("run `git fetch --unshallow --tags`"));
    }
}
