//! `cargo xtask public-api`: compares the public interfaces with those of the last release.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{process::succeed, repository};

/// The folder of the packages of the last release, as `cargo xtask release` leaves them.
pub const BASELINE: &str = "xtask/baseline";

/// The libraries. What they depend on comes first.
pub const LIBRARIES: [&str; 3] = ["imagekiln", "imagekiln-simulator", "imagekiln-batch"];

/// Compares the public interface of every library with that of the last release, and fails if the
/// version does not allow a difference. Needs `cargo install cargo-semver-checks`
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    let released = LIBRARIES.map(|name| unpacked(&root, name, folder.path()));
    let released = released.into_iter().collect::<Result<Vec<_>>>()?;
    let mut is_compatible = true;
    for (name, package) in LIBRARIES.iter().zip(&released) {
        let mut command = Command::new("cargo");
        command.args(["semver-checks", "--package", name, "--baseline-root"]).arg(package);
        let status = command.current_dir(&root).status();
        is_compatible &= status.context("could not start `cargo semver-checks`")?.success();
    }
    Ok(if is_compatible { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Unpacks the last release of a library, and returns its folder.
fn unpacked(root: &Path, name: &str, folder: &Path) -> Result<PathBuf> {
    let archive = root.join(BASELINE).join(format!("{name}.crate"));
    let target = folder.join(name);
    fs::create_dir(&target).with_context(|| format!("could not create {}", target.display()))?;
    // A package holds one folder, whose name ends in the version.
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&archive).arg("-C").arg(&target).arg("--strip-components=1");
    succeed(&mut tar)?;
    let manifest = target.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .with_context(|| format!("could not read {}", manifest.display()))?;
    let text = with_neighbours(&text);
    fs::write(&manifest, text)
        .with_context(|| format!("could not write {}", manifest.display()))?;
    Ok(target)
}

/// Makes a package depend on the other libraries beside it, and not on those of the registry, which
/// may not have them.
fn with_neighbours(manifest: &str) -> String {
    let mut text = manifest.to_owned();
    for name in LIBRARIES {
        let table = format!("[dependencies.{name}]\n");
        text = text.replace(&table, &format!("{table}path = \"../{name}\"\n"));
    }
    text
}

/// Keeps the packages in `target/package` as those that later versions are compared with.
pub fn keep(root: &Path, version: &str) -> Result<()> {
    for name in LIBRARIES {
        let from = root.join(format!("target/package/{name}-{version}.crate"));
        let to = root.join(BASELINE).join(format!("{name}.crate"));
        let problem = || format!("could not copy {} to {}", from.display(), to.display());
        fs::copy(&from, &to).with_context(problem)?;
    }
    Ok(())
}
