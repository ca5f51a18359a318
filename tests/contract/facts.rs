//! The form in which both sides are compared: a place, its columns, a cell each.

use std::collections::BTreeMap;

/// What the cell holds where nothing is said.
pub const NOTHING: &str = "-";

/// Column to cell, in normal form.
pub type Row = BTreeMap<&'static str, String>;

/// Place (an operation, a field of a request or of a response) to its row.
pub type Facts = BTreeMap<String, Row>;

/// What differs, in both directions, one line each.
pub fn differences(listing: &Facts, document: &Facts) -> Vec<String> {
    let mut found = Vec::new();
    for (place, listed) in listing {
        let Some(documented) = document.get(place) else {
            found.push(format!("{place}: in the listing, not in the document"));
            continue;
        };
        assert!(listed.keys().eq(documented.keys()), "{place}: the two sides have other columns");
        for (column, cell) in listed {
            let other = &documented[column];
            if cell != other {
                found.push(format!(
                    "{place}: {column}: the listing says `{cell}`, the document says `{other}`"
                ));
            }
        }
    }
    for place in document.keys().filter(|place| !listing.contains_key(*place)) {
        found.push(format!("{place}: in the document, not in the listing"));
    }
    found
}

/// `5` and `5.0` are one number.
pub fn number(value: f64) -> String {
    value.to_string()
}

/// Alternatives in one order, whatever order they were written in.
pub fn alternatives(mut values: Vec<String>) -> String {
    values.sort();
    values.dedup();
    if values.is_empty() { NOTHING.into() } else { values.join("|") }
}

/// A default as JSON text, with numbers in the form of [`number`].
pub fn json(value: &serde_json::Value) -> String {
    value.as_f64().map_or_else(|| value.to_string(), number)
}
