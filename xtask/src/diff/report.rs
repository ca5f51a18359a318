//! Formats the result of a comparison.
//!
//! A change of a shared component has the same place and the same effect in every operation that
//! uses it, so it is one difference of all these operations. So is the same change of schemas that
//! are not shared, or whose components have other names in the other document.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use super::{
    compare::{Change, Comparison, Difference, Effect, Mark},
    release::Release,
    service::DOCUMENT,
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

impl Report<'_> {
    /// Text of about one screen: one line for each change.
    pub fn text(&self) -> String {
        let differences = &self.comparison.differences;
        let mut text = if differences.is_empty() {
            "No differences.\n".to_owned()
        } else {
            format!("Changes from {} to {}\n", self.from, self.to)
        };
        let rows = rows(differences);
        for (mark, title) in [(Mark::Breaking, "Breaking"), (Mark::Compatible, "Compatible")] {
            let mut rows = rows.iter().filter(|row| row[0].mark == mark).peekable();
            if rows.peek().is_some() {
                let _ = writeln!(text, "\n{title} for callers of the service:");
            }
            for row in rows {
                let _ = writeln!(text, "  {}", line(row, &self.comparison.common));
            }
        }
        text += &self.summary(differences);
        // Names come from the document, and must not control the terminal.
        let harmless = |character: char| character == '\n' || !character.is_control();
        text.chars().map(|character| if harmless(character) { character } else { '?' }).collect()
    }

    fn summary(&self, differences: &[Difference]) -> String {
        let mut summary = String::new();
        let Release { released, demanded, effect, workspace } = self.release;
        if self.only_common {
            let Comparison { common, only_from, only_to, .. } = self.comparison;
            let (count, from, to) = (common.len(), self.from, self.to);
            let _ = writeln!(
                summary,
                "\n{count} operations compared; {only_from} only in {from}, {only_to} only in {to}"
            );
        }
        if !differences.is_empty() {
            let operations = differences.iter().flat_map(|difference| &difference.operations);
            let operations: BTreeSet<_> =
                operations.filter(|operation| **operation != DOCUMENT).collect();
            let differ = match operations.len() {
                1 => "1 operation differs".to_owned(),
                several => format!("{several} operations differ"),
            };
            let breaking = count_breaking(differences);
            let compatible = differences.len() - breaking;
            let blank = if self.only_common { "" } else { "\n" };
            let _ =
                writeln!(summary, "{blank}{differ}: {breaking} breaking, {compatible} compatible");
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
        let breaking = count_breaking(differences);
        let Release { released, demanded, effect, workspace } = self.release;
        let report = json!({
            "from": self.from,
            "to": self.to,
            "breaking": breaking,
            "compatible": differences.len() - breaking,
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
            "differences": differences,
        });
        serde_json::to_string_pretty(&report).map(|text| text + "\n")
    }
}

fn count_breaking(differences: &[Difference]) -> usize {
    differences.iter().filter(|difference| difference.mark == Mark::Breaking).count()
}

/// Joins the differences that fit into one line: they differ only in their place, or in what is
/// added or removed there. Texts are joined if they have the same keyword. Most operations first,
/// then in the order of the differences.
pub fn rows(differences: &[Difference]) -> Vec<Vec<&Difference>> {
    let are_alike = |a: &Difference, b: &Difference| {
        let same = match (&a.change, &b.change) {
            (Change::Reworded { aspect: a, .. }, Change::Reworded { aspect: b, .. }) => {
                return a == b;
            }
            (Change::Added { .. }, Change::Added { .. }) => true,
            (Change::Removed { .. }, Change::Removed { .. }) => true,
            (a, b) => a == b,
        };
        let rest = [a, b].map(|one| (&one.operations, one.mark, one.rust, one.place.is_some()));
        same && rest[0] == rest[1]
    };
    let mut rows: Vec<Vec<&Difference>> = Vec::new();
    for difference in differences {
        match rows.iter_mut().find(|row| are_alike(row[0], difference)) {
            Some(row) => row.push(difference),
            None => rows.push(vec![difference]),
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row[0].operations.len()));
    rows
}

/// The line of a row; `common` are all operations that were compared.
pub fn line(row: &[&Difference], common: &[String]) -> String {
    let rust = match row[0].rust {
        Effect::None => "none",
        Effect::Additive => "additive",
        Effect::Breaking => "breaking",
    };
    let operations = row.iter().flat_map(|difference| &difference.operations);
    let operations: BTreeSet<_> = operations.map(String::as_str).collect();
    let operations: Vec<_> = operations.into_iter().collect();
    let places: Vec<_> = row.iter().filter_map(|difference| difference.place.as_deref()).collect();
    let list = shortened(&places);
    let lone = |verb: &str, what: &str| match places.len() {
        0 => format!("{verb}: {what}"),
        1 => format!("{verb}: {list} ({what})"),
        _ => format!("{verb}: {list}"),
    };
    let place = if places.is_empty() { String::new() } else { list.clone() + ": " };
    let change = match &row[0].change {
        Change::Added { what } => lone("added", what),
        Change::Removed { what } => lone("removed", what),
        Change::Changed { aspect, from, to } => {
            format!("{place}{aspect}: {}", sides(aspect, from, to))
        }
        Change::Reworded { aspect, .. } => format!("{place}{aspect}: other text"),
    };
    format!("Rust {rust:<8}  {change} [{}]", operations_in_words(&operations, common))
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
        ("enum" | "x-extensible-enum" | "x-image", Some(from), Some(to)) => {
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
