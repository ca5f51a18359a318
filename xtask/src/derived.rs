//! The checked-in files that are derived from the contract.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{contract, corrections, outline};

/// A derived file: its path, and its expected content.
pub struct Derived {
    pub path: PathBuf,
    pub content: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(1).map(Path::to_owned).unwrap_or_default()
}

/// Reads the contract, checks that it is valid OpenAPI 3.0 and that code can be generated from it,
/// and generates all derived files.
pub fn files() -> Result<Vec<Derived>> {
    let document = read(contract::PATH)?;
    serde_json::from_str::<openapiv3::OpenAPI>(&document)
        .with_context(|| format!("{} is not valid OpenAPI 3.0", contract::PATH))?;
    contract::generate(&document)?;
    Ok(vec![Derived {
        path: root().join(corrections::PATH),
        content: corrections::page(&document)?,
    }])
}

/// Whether the snapshot of the outline is out of date.
pub fn is_outline_stale() -> Result<bool> {
    let snapshot = read("xtask/src/snapshots/xtask__outline__tests__of_the_contract.snap")?;
    // insta's header is between two lines of dashes.
    let shown = snapshot.splitn(3, "---\n").nth(2).unwrap_or_default();
    Ok(shown.trim() != outline::of_document(&read(contract::PATH)?)?.trim())
}

fn read(path: &str) -> Result<String> {
    let path = root().join(path);
    fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))
}

/// The snapshots that `cargo insta review` has to review.
pub fn pending_snapshots() -> Vec<PathBuf> {
    let mut pending = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    folders.push(path);
                }
            } else if name.to_string_lossy().ends_with(".snap.new") {
                pending.push(path);
            }
        }
    }
    pending.sort();
    pending
}
