//! The checked-in files that are derived from the contract.

use std::{fs, path::PathBuf};

use anyhow::Result;

use crate::{
    contract, corrections, outline,
    repository::{self, root},
};

/// A derived file that is not up to date.
pub struct Stale {
    pub path: PathBuf,
    before: String,
    pub content: String,
}

/// Returns the derived files that differ from what the document says.
pub fn stale(document: &str) -> Result<Vec<Stale>> {
    let files = [
        (corrections::PATH, corrections::page(&contract::parse(document)?)),
        (outline::PATH, outline::of_document(document)?),
    ];
    let mut stale = Vec::new();
    for (path, content) in files {
        let path = root()?.join(path);
        let before = fs::read_to_string(&path).unwrap_or_default();
        if before != content {
            stale.push(Stale { path, before, content });
        }
    }
    Ok(stale)
}

impl Stale {
    /// Returns the first lines that differ: `-` before the old ones, `+` before the new ones.
    pub fn changed_lines(&self) -> Vec<String> {
        const SHOWN: usize = 12;
        let parts = changed_parts(&self.before, &self.content);
        let lines = parts
            .iter()
            .flat_map(|(mark, part)| part.lines().map(move |line| format!("{mark} {line}")));
        lines.take(SHOWN).collect()
    }
}

/// Returns the sections and the table rows that only one of the texts has: `-` for the first, `+`
/// for the second.
pub fn changed_parts(before: &str, after: &str) -> Vec<(char, String)> {
    let [before, after] = [before, after].map(|text| {
        let sections = text.split("\n\n###").flat_map(|section| section.split("\n\n##"));
        let parts = sections.flat_map(|section| match section.contains("\n|") {
            true => section.lines().collect(),
            false => vec![section],
        });
        parts.collect::<Vec<_>>()
    });
    let removed = before.iter().filter(|part| !after.contains(part)).map(|part| ('-', part));
    let added = after.iter().filter(|part| !before.contains(part)).map(|part| ('+', part));
    removed.chain(added).map(|(mark, part)| (mark, (*part).to_owned())).collect()
}

/// Returns the snapshots of tests that are not accepted or rejected yet.
pub fn pending_snapshots() -> Result<Vec<PathBuf>> {
    let mut pending = Vec::new();
    let mut folders = vec![repository::root()?];
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
    Ok(pending)
}
