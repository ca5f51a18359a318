//! The checked-in files that are derived from the contract.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};

use crate::{
    contract, corrections, outline,
    repository::{CONTRACT, read, root},
};

/// A derived file: its path, and its expected content.
pub struct Derived {
    pub path: PathBuf,
    pub content: String,
}

/// Reads the contract, checks that it is valid OpenAPI 3.0 and that code can be generated from it,
/// and generates all derived files.
pub fn files() -> Result<Vec<Derived>> {
    let document = read(CONTRACT)?;
    serde_json::from_str::<openapiv3::OpenAPI>(&document)
        .with_context(|| format!("{} is not valid OpenAPI 3.0", CONTRACT))?;
    contract::generate(&document)?;
    Ok(vec![Derived {
        path: root()?.join(corrections::PATH),
        content: corrections::page(&document)?,
    }])
}

/// Whether the snapshot of the outline is out of date.
pub fn is_outline_stale() -> Result<bool> {
    let snapshot = read("xtask/src/snapshots/xtask__outline__tests__of_the_contract.snap")?;
    // insta's header is between two lines of dashes.
    let shown = snapshot.splitn(3, "---\n").nth(2).unwrap_or_default();
    Ok(shown.trim() != outline::of_document(&read(CONTRACT)?)?.trim())
}

/// The snapshots that `cargo insta review` has to review.
pub fn pending_snapshots(root: PathBuf) -> Vec<PathBuf> {
    let mut pending = Vec::new();
    let mut folders = vec![root];
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
