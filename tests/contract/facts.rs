//! The form in which both sides are compared: facts by location, with named columns.

use std::collections::BTreeMap;

/// The cell for an unspecified value.
pub const NOTHING: &str = "-";

/// Normalized cells by column.
pub type Row = BTreeMap<&'static str, String>;

/// Rows by location: an operation, or a field of a request or a response.
pub type Facts = BTreeMap<String, Row>;

/// Returns the differences in both directions, one per line.
pub fn differences(listing: &Facts, document: &Facts) -> Vec<String> {
    let mut found = Vec::new();
    for (place, listed) in listing {
        let Some(documented) = document.get(place) else {
            found.push(format!("{place}: in the listing, not in the document"));
            continue;
        };
        assert!(listed.keys().eq(documented.keys()), "{place}: the columns differ");
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

/// Formats a number, so that `5` and `5.0` are equal.
pub fn number(value: f64) -> String {
    value.to_string()
}

/// Joins alternatives in sorted order.
pub fn alternatives(mut values: Vec<String>) -> String {
    values.sort();
    values.dedup();
    if values.is_empty() { NOTHING.into() } else { values.join("|") }
}

/// Formats a default as JSON, with numbers as in [`number`].
pub fn json(value: &serde_json::Value) -> String {
    value.as_f64().map_or_else(|| value.to_string(), number)
}
