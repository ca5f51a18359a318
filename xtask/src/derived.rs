//! The checked-in files that are derived from the contract or from the code.

use std::{fs, path::PathBuf};

use anyhow::Result;

use crate::{contract, corrections, outline, repository::root};

/// A derived file that is not up to date.
pub struct Stale {
    pub path: PathBuf,
    pub content: String,
}

/// Returns the derived files that differ from the document.
pub fn stale(document: &str) -> Result<Vec<Stale>> {
    let files = [
        (corrections::PATH, corrections::page(&contract::parse(document)?)),
        (outline::PATH, outline::of_document(document)?),
        // A package can't contain files outside of its folder.
        ("crates/simulator/openapi.json", document.to_owned()),
    ];
    let mut stale = Vec::new();
    for (path, content) in files {
        let path = root()?.join(path);
        let before = fs::read_to_string(&path).unwrap_or_default();
        if before != content {
            stale.push(Stale { path, content });
        }
    }
    Ok(stale)
}
