//! One line of the report: a change at one or more places, and the operations that have it.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
    mem::discriminant,
};

use serde_json::Value;

use super::{
    difference::{Change, Finding},
    group::Group,
    rust_api::Effect,
    shorten::{self, length},
};

/// The width of a line. Only long names exceed it.
const WIDTH: usize = 100;

/// The part of a line for the operations, if their names are long.
const OPERATIONS: usize = 40;

/// The least width of two values.
const VALUES: usize = 24;

/// The number of operations that a line with almost all operations names as exceptions.
const EXCEPTIONS: usize = 2;

/// Findings with the same operations that fit into one line.
pub struct Row<'a> {
    pub operations: &'a [&'a str],
    pub first: &'a Finding,
    findings: Vec<&'a Finding>,
}

/// The rows for these groups: most operations first, then in the order of the groups.
pub fn rows<'a>(groups: &'a [Group<'a>]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut indexes = HashMap::new();
    for Group { operations, finding } in groups {
        let index = *indexes.entry((operations, kind(finding))).or_insert(rows.len());
        match rows.get_mut(index) {
            Some(row) => row.findings.push(finding),
            None => rows.push(Row { operations, first: finding, findings: vec![finding] }),
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.operations.len()));
    rows
}

/// What the findings of one row have in common: everything except their place, and the kind of an
/// added or removed field.
fn kind(finding: &Finding) -> impl Eq + Hash {
    let Finding { place, change, mark, rust } = finding;
    let changed = matches!(change, Change::Changed { .. }).then_some(change);
    (discriminant(change), changed, *mark, *rust, place.is_some())
}

impl Row<'_> {
    /// The line; `common` are all operations that were compared.
    pub fn text(&self, common: &[String]) -> String {
        let rust = match self.first.rust {
            Effect::None => "none",
            Effect::Additive => "additive",
            Effect::Breaking => "breaking",
        };
        let start = format!("  Rust {rust:<8}  ");
        let operations = Operations::new(self.operations, common);
        let room = WIDTH.saturating_sub(length(&start) + " []".len());
        let change = self.change(room - operations.length().min(OPERATIONS));
        let operations = operations.text(room.saturating_sub(length(&change)));
        format!("{start}{change} [{operations}]")
    }

    /// The change in about `width` characters.
    fn change(&self, width: usize) -> String {
        let places: Vec<_> = self.findings.iter().filter_map(|found| found.place.clone()).collect();
        let (verb, what) = match &self.first.change {
            Change::Added { what } => ("added", what),
            Change::Removed { what } => ("removed", what),
            Change::Changed { aspect, from, to } => {
                let mut text = shorten::list(&places, width / 2);
                if !places.is_empty() {
                    text.push_str(": ");
                }
                text.push_str(&format!("{aspect}: "));
                let room = width.saturating_sub(length(&text));
                return text + &sides(aspect, from, to, room);
            }
        };
        match places.as_slice() {
            [] => format!("{verb}: {what}"),
            [place] => format!("{verb}: {place} ({what})"),
            _ => {
                format!("{verb}: {}", shorten::list(&places, width.saturating_sub(verb.len() + 2)))
            }
        }
    }
}

fn sides(aspect: &str, from: &str, to: &str, width: usize) -> String {
    if let ("enum", Some(from), Some(to)) = (aspect, values(from), values(to)) {
        let new = to.difference(&from).map(|value| format!("+ {value}"));
        let gone = from.difference(&to).map(|value| format!("- {value}"));
        let changed: Vec<_> = gone.chain(new).collect();
        return shorten::list(&changed, width);
    }
    let arrow = " -> ";
    let [from, to] = shorten::pair([from, to], VALUES.max(width.saturating_sub(arrow.len())));
    format!("{from}{arrow}{to}")
}

/// The values of an enumeration; `None` if there is no enumeration.
fn values(list: &str) -> Option<BTreeSet<String>> {
    let values: Vec<Value> = serde_json::from_str(&format!("[{list}]")).ok()?;
    Some(values.iter().map(ToString::to_string).collect())
}

/// The operations of a row, in words.
struct Operations {
    start: String,
    names: Vec<String>,
}

impl Operations {
    fn new(operations: &[&str], common: &[String]) -> Self {
        let named = || operations.iter().map(|name| short(name)).collect();
        if operations.len() == 1 || operations.len() + EXCEPTIONS < common.len() {
            return Self { start: String::new(), names: named() };
        }
        let concerned: BTreeSet<_> = operations.iter().copied().collect();
        let others = common.iter().filter(|name| !concerned.contains(name.as_str()));
        let others: Vec<_> = others.map(|name| short(name)).collect();
        // An operation that only one document has is not among the common ones.
        let compared = common.len() - others.len() == operations.len();
        if !compared || others.len() > operations.len() {
            return Self { start: String::new(), names: named() };
        }
        let start = match others.len() {
            0 => format!("all {} operations", common.len()),
            _ => "all except ".to_owned(),
        };
        Self { start, names: others }
    }

    fn length(&self) -> usize {
        length(&self.start) + length(&self.names.join(", "))
    }

    fn text(&self, width: usize) -> String {
        let names = shorten::list(&self.names, width.saturating_sub(length(&self.start)));
        format!("{}{names}", self.start)
    }
}

/// The name of an operation, without what most names have in common: `POST` and `/v1/`.
fn short(operation: &str) -> String {
    let name = operation.replacen(" /v1/", " ", 1);
    name.strip_prefix("POST ").map_or(name.clone(), str::to_owned)
}
