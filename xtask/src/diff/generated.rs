//! The differences between the types that the generator makes of two documents. They show what the
//! comparison of the documents ignores: extensions such as `x-image`, and names of components.

use serde_json::Value;

use super::{
    difference::{Change, Difference, Finding, Mark},
    rust_api::Effect,
};
use crate::outline::{self, Types};

/// Compares the generated types. A document of an older version may not be valid today: then there
/// is nothing to compare.
pub fn differences(from: &Value, to: &Value) -> Vec<Difference> {
    let types = |document: &Value| outline::types_of(&document.to_string()).ok();
    match (types(from), types(to)) {
        (Some(from), Some(to)) => compare(&from, &to),
        _ => Vec::new(),
    }
}

fn compare(from: &Types, to: &Types) -> Vec<Difference> {
    let mut found = Vec::new();
    for (heading, lines) in &from.lines {
        let name = name(heading);
        let Some((_, others)) = to.lines.iter().find(|(other, _)| self::name(other) == name) else {
            let change = Change::Removed { what: "type".into() };
            found.push(difference(name, None, change, Effect::Breaking));
            continue;
        };
        for line in lines.iter().filter(|line| !others.contains(line)) {
            let (place, from) = parts(line);
            let same = others.iter().map(|other| parts(other)).find(|other| other.0 == place);
            let to = same.map_or("none", |(_, to)| to);
            let change = Change::Changed { aspect: "type", from: from.into(), to: to.into() };
            found.push(difference(name, Some(place), change, Effect::Breaking));
        }
    }
    for (heading, lines) in &to.lines {
        let known = from.lines.iter().find(|(other, _)| name(other) == name(heading));
        let known = known.map_or(&[][..], |(_, known)| known);
        for (place, what) in lines.iter().map(|line| parts(line)) {
            if !known.iter().any(|other| parts(other).0 == place) {
                let change = Change::Added { what: what.into() };
                found.push(difference(name(heading), Some(place), change, Effect::Additive));
            }
        }
    }
    found
}

/// The name of a type, without the note on its deprecation.
fn name(heading: &str) -> &str {
    heading.split(" (").next().unwrap_or(heading)
}

/// The name of a member or a function, and the rest of the line.
fn parts(line: &str) -> (&str, &str) {
    let line = line.trim();
    let (name, rest) = line.split_at(line.find([':', '(']).unwrap_or(line.len()));
    (name, rest.trim_start_matches(": "))
}

fn difference(heading: &str, place: Option<&str>, change: Change, rust: Effect) -> Difference {
    let place = place.map(str::to_owned);
    let finding = Finding { place, change, mark: Mark::Compatible, rust };
    Difference { operation: heading.to_owned(), finding }
}
