//! The checked-in files that are derived from the contract or from the code.

use std::{fs, path::PathBuf};

use anyhow::Result;

use crate::{contract, corrections, outline, repository::root};

/// A derived file that is not up to date.
pub struct Stale {
    pub path: PathBuf,
    before: String,
    pub content: String,
}

/// Returns the derived files that differ from the document.
pub fn stale(document: &str) -> Result<Vec<Stale>> {
    let files = [
        (corrections::PATH, corrections::page(&contract::parse(document)?)),
        (outline::PATH, outline::of_document(document)?),
        // A package can't contain files outside of its folder.
        ("simulator/openapi.json", document.to_owned()),
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
    /// Returns the first lines that differ: `-` before the old ones, `+` before the new ones. The
    /// first line of a section that changed is above them.
    pub fn changed_lines(&self) -> Vec<String> {
        const SHOWN: usize = 12;
        let parts = changed_parts(&self.before, &self.content);
        let with = |mark: char, first: Option<&str>| {
            let same = parts.iter().find(|(m, part)| *m == mark && part.lines().next() == first);
            same.map_or("", |(_, part)| part.as_str())
        };
        let mut lines = Vec::new();
        for (mark, part) in &parts {
            let first = part.lines().next();
            let (old, new) = (with('-', first), with('+', first));
            let is_changed = !old.is_empty() && !new.is_empty();
            if is_changed && *mark == '+' {
                continue;
            }
            lines.extend(first.filter(|_| is_changed).map(|first| format!("  {first}")));
            lines.extend(lines_without("-", old, new));
            lines.extend(lines_without("+", new, old));
        }
        lines.truncate(SHOWN);
        lines
    }
}

/// Returns the lines of `text` that are not in `other`, after a mark.
fn lines_without(mark: &str, text: &str, other: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !other.lines().any(|same| same == *line));
    lines.map(|line| format!("{mark} {line}")).collect()
}

/// Returns the sections and the table rows that only one of the texts has: `-` for the first, `+`
/// for the second.
pub fn changed_parts(before: &str, after: &str) -> Vec<(char, String)> {
    let [before, after] = [before, after].map(|text| {
        // A page has headings, and the outline has paragraphs.
        let sections: Vec<_> = if text.contains("\n\n##") {
            text.split("\n\n###").flat_map(|part| part.split("\n\n##")).collect()
        } else {
            text.split("\n\n").collect()
        };
        let parts = sections.into_iter().flat_map(|section| {
            if section.contains("\n|") { section.lines().collect() } else { vec![section] }
        });
        parts.collect::<Vec<_>>()
    });
    let removed = before.iter().filter(|part| !after.contains(part)).map(|part| ('-', part));
    let added = after.iter().filter(|part| !before.contains(part)).map(|part| ('+', part));
    removed.chain(added).map(|(mark, part)| (mark, (*part).to_owned())).collect()
}
