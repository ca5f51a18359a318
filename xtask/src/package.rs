//! `cargo xtask package`: the packages that a release uploads.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Args;

use crate::repository;

/// The crates that are published. Each depends on those before it only.
pub const PUBLISHED: [&str; 4] =
    ["imagekiln", "imagekiln-simulator", "imagekiln-batch", "imagekiln-cli"];

/// Packs every crate that is published into `target/package`, and builds each one from what was
/// packed
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("package").args(PUBLISHED.map(|name| format!("--package={name}")));
    // A release is packed before it is committed. The upload refuses what is not.
    command.arg("--allow-dirty");
    command.arg("--target-dir").arg(repository::root()?.join("target"));
    let status = command.current_dir(repository::root()?).status();
    let status = status.context("could not start `cargo package`")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Where the READMEs of the packages find the pictures of this repository.
    const RAW: &str = "https://raw.githubusercontent.com/imagekiln/imagekiln/main/";

    #[test]
    fn a_crate_is_published_or_says_that_it_is_not() {
        let root = repository::root().unwrap();
        let folders = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
        let manifests =
            folders.map(|folder| folder.join("Cargo.toml")).chain([root.join("Cargo.toml")]);
        let manifests = manifests.filter_map(|path| fs::read_to_string(path).ok());
        let mut published: Vec<_> = manifests
            .filter(|manifest| !manifest.lines().any(|line| line == "publish = false"))
            .filter_map(|manifest| {
                let mut lines = manifest.lines().skip_while(|line| *line != "[package]");
                let name = lines.find_map(|line| line.strip_prefix("name = ")?.split('"').nth(1));
                name.map(str::to_owned)
            })
            .collect();
        published.sort_unstable();
        let mut expected = PUBLISHED;
        expected.sort_unstable();
        assert_eq!(published, expected);
    }

    #[test]
    fn the_pictures_of_the_readmes_are_absolute_and_exist() {
        let root = repository::root().unwrap();
        for page in ["README.md", "batch/README.md", "cli/README.md", "simulator/README.md"] {
            let text = repository::read(page).unwrap();
            for (_, image) in text.match_indices("![").map(|(start, _)| text.split_at(start)) {
                let target = image.split_once("](").and_then(|(_, rest)| rest.split_once(')'));
                let (target, _) = target.unwrap();
                let path = target.strip_prefix(RAW);
                assert!(path.is_some_and(|path| root.join(path).is_file()), "{page}: {target}");
            }
        }
    }
}
