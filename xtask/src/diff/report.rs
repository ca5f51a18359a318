//! Formats the result of a comparison.
//!
//! A change of a shared component has the same place and the same effect in every operation that
//! uses it, so it is reported once, with all these operations. So is the same change of schemas
//! that are not shared, or whose components have other names in the other document.

use std::{collections::BTreeSet, fmt::Write as _};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    compare::{Change, Comparison, Difference, Effect, Finding, Mark},
    release::Release,
};

/// A comparison, and what the report says about it.
pub struct Report<'a> {
    /// The names of the two documents.
    pub from: &'a str,
    pub to: &'a str,
    pub comparison: &'a Comparison,
    /// Operations that only one document has are counted, and are not differences.
    pub only_common: bool,
    pub release: &'a Release,
}

/// A finding, and the operations that have it.
#[derive(Debug, Serialize)]
pub struct Group<'a> {
    pub operations: Vec<&'a str>,
    #[serde(flatten)]
    pub finding: &'a Finding,
}

/// The groups, in the order of their first difference.
pub fn groups(differences: &[Difference]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for Difference { operation, finding } in differences {
        match groups.iter_mut().find(|group| group.finding == finding) {
            Some(group) => group.operations.push(operation),
            None => groups.push(Group { operations: vec![operation], finding }),
        }
    }
    groups
}

impl Report<'_> {
    /// Text of about one screen: one line for each change.
    pub fn text(&self) -> String {
        let groups = groups(&self.comparison.differences);
        let mut text = if groups.is_empty() {
            "No differences.\n".to_owned()
        } else {
            format!("Changes from {} to {}\n", self.from, self.to)
        };
        let rows = rows(&groups);
        for (mark, title) in [(Mark::Breaking, "Breaking"), (Mark::Compatible, "Compatible")] {
            let mut rows = rows.iter().filter(|row| row[0].finding.mark == mark).peekable();
            if rows.peek().is_some() {
                let _ = writeln!(text, "\n{title} for callers of the service:");
            }
            for row in rows {
                let _ = writeln!(text, "  {}", line(row, &self.comparison.common));
            }
        }
        text += &self.summary(&groups);
        // Names come from the document, and must not control the terminal.
        let harmless = |character: char| character == '\n' || !character.is_control();
        text.chars().map(|character| if harmless(character) { character } else { '?' }).collect()
    }

    fn summary(&self, groups: &[Group]) -> String {
        let mut summary = String::new();
        let Release { released, demanded, effect, workspace } = self.release;
        if !groups.is_empty() {
            let operations: BTreeSet<_> =
                groups.iter().flat_map(|group| &group.operations).collect();
            let differ = match operations.len() {
                1 => "1 operation differs".to_owned(),
                several => format!("{several} operations differ"),
            };
            let breaking = count_breaking(groups);
            let compatible = groups.len() - breaking;
            let _ = writeln!(summary, "\n{differ}: {breaking} breaking, {compatible} compatible");
        }
        if self.only_common {
            let Comparison { common, only_from, only_to, .. } = self.comparison;
            let (count, from, to) = (common.len(), self.from, self.to);
            let _ = writeln!(
                summary,
                "{count} operations compared; {only_from} only in {from}, {only_to} only in {to}"
            );
        }
        if !groups.is_empty() {
            let reason = match effect {
                Effect::Breaking => "the Rust API breaks",
                Effect::Additive => "the Rust API grows",
                Effect::None => "the Rust API stays the same",
            };
            let _ = writeln!(
                summary,
                "A release with these changes demands {demanded} (from {released}): {reason}"
            );
        }
        if let Some(version) = workspace {
            let verdict = if self.release.is_too_low() {
                format!("too low: set it to {demanded} or higher in Cargo.toml")
            } else {
                "high enough".to_owned()
            };
            let _ = writeln!(summary, "The version {version} of the workspace is {verdict}");
        }
        summary
    }

    /// JSON: a single object. Nothing is shortened.
    pub fn json(&self) -> serde_json::Result<String> {
        let Comparison { differences, common, only_from, only_to } = self.comparison;
        let groups = groups(differences);
        let breaking = count_breaking(&groups);
        let Release { released, demanded, effect, workspace } = self.release;
        let report = json!({
            "from": self.from,
            "to": self.to,
            "breaking": breaking,
            "compatible": groups.len() - breaking,
            "operations": {
                "common": common.len(),
                "only_from": only_from,
                "only_to": only_to,
            },
            "release": {
                "from": released.to_string(),
                "demanded": demanded.to_string(),
                "rust": effect,
                "workspace": workspace.as_ref().map(ToString::to_string),
            },
            "differences": groups,
        });
        serde_json::to_string_pretty(&report).map(|text| text + "\n")
    }
}

fn count_breaking(groups: &[Group]) -> usize {
    groups.iter().filter(|group| group.finding.mark == Mark::Breaking).count()
}

/// Joins the groups that fit into one line, because they differ only in their place, or in what is
/// added or removed there. Most operations first, then in the order of the groups.
pub fn rows<'a>(groups: &'a [Group<'a>]) -> Vec<Vec<&'a Group<'a>>> {
    let are_alike = |a: &Group, b: &Group| {
        let changes = [a, b].map(|group| match &group.finding.change {
            Change::Added { .. } => ("added", None),
            Change::Removed { .. } => ("removed", None),
            change @ Change::Changed { .. } => ("changed", Some(change)),
        });
        let rest = [a, b].map(|Group { operations, finding }| {
            (operations, finding.mark, finding.rust, finding.place.is_some())
        });
        changes[0] == changes[1] && rest[0] == rest[1]
    };
    let mut rows: Vec<Vec<&Group>> = Vec::new();
    for group in groups {
        match rows.iter_mut().find(|row| are_alike(row[0], group)) {
            Some(row) => row.push(group),
            None => rows.push(vec![group]),
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row[0].operations.len()));
    rows
}

/// The line of a row; `common` are all operations that were compared.
pub fn line(row: &[&Group], common: &[String]) -> String {
    let Group { operations, finding } = row[0];
    let rust = match finding.rust {
        Effect::None => "none",
        Effect::Additive => "additive",
        Effect::Breaking => "breaking",
    };
    let places: Vec<_> = row.iter().filter_map(|group| group.finding.place.as_deref()).collect();
    let list = shortened(&places);
    let lone = |verb: &str, what: &str| match places.len() {
        0 => format!("{verb}: {what}"),
        1 => format!("{verb}: {list} ({what})"),
        _ => format!("{verb}: {list}"),
    };
    let change = match &finding.change {
        Change::Added { what } => lone("added", what),
        Change::Removed { what } => lone("removed", what),
        Change::Changed { aspect, from, to } => {
            let place = if places.is_empty() { String::new() } else { list + ": " };
            format!("{place}{aspect}: {}", sides(aspect, from, to))
        }
    };
    format!("Rust {rust:<8}  {change} [{}]", operations_in_words(operations, common))
}

/// The first names, and how many more there are.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    match names.len() {
        // A list with one more name is as short as the number.
        count if count > SHOWN + 1 => {
            format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN)
        }
        _ => names.join(", "),
    }
}

/// Two values, or what changed in a list of values.
fn sides(aspect: &str, from: &str, to: &str) -> String {
    let values = |list: &str| {
        let values: Vec<Value> = serde_json::from_str(&format!("[{list}]")).ok()?;
        Some(values.iter().map(ToString::to_string).collect::<BTreeSet<_>>())
    };
    match (aspect, values(from), values(to)) {
        ("enum", Some(from), Some(to)) => {
            let new = to.difference(&from).map(|value| format!("+ {value}"));
            let gone = from.difference(&to).map(|value| format!("- {value}"));
            gone.chain(new).collect::<Vec<_>>().join(", ")
        }
        _ => format!("{from} -> {to}"),
    }
}

/// The names of the operations, or of the few others.
fn operations_in_words(operations: &[&str], common: &[String]) -> String {
    const EXCEPTIONS: usize = 2;
    let is_common = |name: &&str| common.iter().any(|other| other == name);
    let others: Vec<_> =
        common.iter().filter(|name| !operations.contains(&name.as_str())).collect();
    let are_few = others.len() <= EXCEPTIONS && others.len() < operations.len();
    let (start, names) = match others.len() {
        _ if operations.len() == 1 || !are_few || !operations.iter().all(is_common) => {
            (String::new(), operations.to_vec())
        }
        0 => (format!("all {} operations", common.len()), Vec::new()),
        _ => ("all except ".to_owned(), others.iter().map(|name| name.as_str()).collect()),
    };
    // What most names have in common is left out.
    let short = |name: &&str| {
        let name = name.replacen(" /v1/", " ", 1);
        name.strip_prefix("POST ").map_or(name.clone(), str::to_owned)
    };
    let names: Vec<_> = names.iter().map(short).collect();
    start + &shortened(&names.iter().map(String::as_str).collect::<Vec<_>>())
}
