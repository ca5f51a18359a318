//! Builds `kiln` for another target, and generates the README's picture with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{cargo, command, succeed},
    repository,
};

/// Builds `kiln` for a target into the repository's target folder, and returns its path without an
/// extension. `options` are those of `cargo build`.
pub fn build(target: &str, options: &[&str], profile: &str) -> Result<PathBuf> {
    let root = repository::root()?;
    succeed(&mut command(&root, &["rustup", "target", "add", target]))?;
    let folder = root.join("target");
    let mut build = cargo(&root, &["build", "--locked", "--package", "imagekiln-cli"]);
    build.args(["--target", target]).args(options).arg("--target-dir").arg(&folder);
    // It may be a linter.
    build.env_remove("RUSTC_WORKSPACE_WRAPPER");
    succeed(&mut build)?;
    Ok(folder.join(target).join(profile).join("kiln"))
}

/// Runs the README's first command, and compares the picture with the README's. `kiln` starts the
/// program, and `folder` is empty.
pub fn check_picture(mut kiln: Command, folder: &Path) -> Result<()> {
    kiln.env("KILN_STATE_DIR", folder).current_dir(folder).args([
        "--simulate",
        "generate",
        "a red fox in the snow",
        "--output",
        "fox.png",
    ]);
    succeed(kiln.args(["--width", "1024", "--height", "768", "--seed", "7"]))?;
    let picture = fs::read(folder.join("fox.png")).context("could not read the picture")?;
    let expected = fs::read(repository::root()?.join("docs/fox.png"));
    ensure!(picture == expected.context("could not read docs/fox.png")?, "the picture differs");
    Ok(())
}
