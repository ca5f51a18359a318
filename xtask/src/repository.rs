//! The checkout that the commands work on.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// The path of the contract in the repository.
pub const CONTRACT: &str = "openapi.json";

/// Returns the root of the checkout that contains the current directory.
///
/// It is not taken from the build, because two checkouts may share a target folder.
pub fn root() -> Result<PathBuf> {
    let current = env::current_dir().context("could not find the current directory")?;
    let is_root = |folder: &&Path| folder.join(CONTRACT).is_file() && folder.join("xtask").is_dir();
    let root = current.ancestors().find(is_root);
    root.map(Path::to_owned)
        .with_context(|| format!("{} is not in a checkout of imagekiln", current.display()))
}

/// Reads a file of the repository.
pub fn read(path: &str) -> Result<String> {
    let path = root()?.join(path);
    fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))
}
