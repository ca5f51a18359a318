//! Formats the result of a comparison.
//!
//! A change of a shared component has the same place and the same effect in every operation that
//! uses it, so it is one difference of all these operations. So is the same change of schemas that
//! are not shared, or whose components have other names in the other document.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
};

use super::compare::{Change, Comparison, Difference};

/// A comparison, and the names of the two documents.
pub struct Report<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub comparison: &'a Comparison,
    /// Operations that only one document has are counted, and are not differences.
    pub only_common: bool,
}

/// Text of about one screen: one line for each change.
impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, comparison: Comparison { differences, common, only }, .. } = self;
        let mut text = match differences.len() {
            0 => "No differences.\n".to_owned(),
            _ => format!("Changes from {from} to {to}\n"),
        };
        let rows = rows(differences);
        for (is_breaking, title) in [(true, "Breaking"), (false, "Compatible")] {
            let mut rows = rows.iter().filter(|row| row[0].is_breaking == is_breaking).peekable();
            if rows.peek().is_some() {
                writeln!(text, "\n{title} for callers of the service:")?;
            }
            rows.try_for_each(|row| writeln!(text, "  {}", line(row, common)))?;
        }
        let [only_from, only_to] = only;
        if self.only_common {
            let count = common.len();
            writeln!(
                text,
                "\n{count} operations compared; {only_from} only in {from}, {only_to} \
                            only in {to}"
            )?;
        }
        if !differences.is_empty() {
            let names = differences.iter().flat_map(|difference| &difference.operations);
            let operations = names.collect::<BTreeSet<_>>().len();
            let breaking = differences.iter().filter(|one| one.is_breaking).count();
            let compatible = differences.len() - breaking;
            let blank = if self.only_common { "" } else { "\n" };
            writeln!(
                text,
                "{blank}operations that differ: {operations}; changes: {breaking} \
                            breaking, {compatible} compatible"
            )?;
        }
        f.write_str(&harmless(&text))
    }
}

/// Replaces control characters. Names come from the document, and must not control the terminal.
fn harmless(text: &str) -> String {
    let is_harmless = |character: char| character == '\n' || !character.is_control();
    text.chars().map(|character| if is_harmless(character) { character } else { '?' }).collect()
}

/// Joins the differences that fit into one line: they differ only in their place, or in what is
/// added or removed there. Most operations first, then in the order of the differences.
fn rows(differences: &[Difference]) -> Vec<Vec<&Difference>> {
    let are_alike = |a: &Difference, b: &Difference| {
        let is_same = match (&a.change, &b.change) {
            (Change::Added { .. }, Change::Added { .. }) => true,
            (Change::Removed { .. }, Change::Removed { .. }) => true,
            (a, b) => a == b,
        };
        let rest = [a, b].map(|one| (&one.operations, one.is_breaking, one.place.is_empty()));
        is_same && rest[0] == rest[1]
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
    let operations: BTreeSet<_> =
        row.iter().flat_map(|one| &one.operations).map(String::as_str).collect();
    let places: Vec<_> = row.iter().map(|one| one.place.as_str()).collect();
    let list = shortened(&places);
    let lone = |verb: &str, what: &str| match places[..] {
        [""] => format!("{verb}: {what}"),
        [place] => format!("{verb}: {place} ({what})"),
        _ => format!("{verb}: {list}"),
    };
    let change = match &row[0].change {
        Change::Added { what } => lone("added", what),
        Change::Removed { what } => lone("removed", what),
        Change::Changed { aspect, from, to } => {
            let place = if list.is_empty() { String::new() } else { format!("{list}: ") };
            format!("{place}{aspect}: {}", sides(aspect, from, to))
        }
    };
    let operations: Vec<_> = operations.into_iter().collect();
    format!("{change} [{}]", operations_in_words(&operations, common))
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
    if aspect != "enum" || [from, to].contains(&"none") {
        return format!("{from} -> {to}");
    }
    let [from, to] = [from, to].map(|list| list.split(", ").collect::<BTreeSet<_>>());
    let gone = from.difference(&to).map(|value| format!("- {value}"));
    gone.chain(to.difference(&from).map(|value| format!("+ {value}")))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The names of the operations, or of the few others.
fn operations_in_words(operations: &[&str], common: &[String]) -> String {
    const EXCEPTIONS: usize = 2;
    let others: Vec<_> =
        common.iter().map(String::as_str).filter(|name| !operations.contains(name)).collect();
    let are_most = operations.len() > 1
        && operations.len() + others.len() == common.len()
        && others.len() <= EXCEPTIONS.min(operations.len() - 1);
    // What most names have in common is left out.
    let short = |names: &[&str]| {
        let names = names.iter().map(|name| name.replacen(" /v1/", " ", 1));
        let names = names.map(|name| name.trim_start_matches("POST ").to_owned());
        shortened(&names.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>())
    };
    match (are_most, others.len()) {
        (true, 0) => format!("all {} operations", common.len()),
        (true, _) => format!("all except {}", short(&others)),
        (false, _) => short(operations),
    }
}
