//! The form in which both sides are compared: facts by location, with named columns.

use std::collections::BTreeMap;

use crate::contract::{DocumentNode, Faults};

/// The cell for an unspecified value.
pub const NOTHING: &str = "-";

/// A normalized value, and where it is in the document, if it is from there.
pub struct Cell<'a> {
    pub text: String,
    pub place: Option<DocumentNode<'a>>,
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self { text, place: None }
    }
}

/// The facts about an operation, or about a field of a request or a response.
pub struct Row<'a> {
    /// The object of the document that the row describes.
    pub place: Option<DocumentNode<'a>>,
    pub cells: BTreeMap<String, Cell<'a>>,
}

impl<'a> Row<'a> {
    /// A row of the document.
    pub fn at<const COLUMNS: usize>(
        place: DocumentNode<'a>,
        cells: [(&str, Cell<'a>); COLUMNS],
    ) -> Self {
        let cells = cells.into_iter().map(|(column, cell)| (column.to_owned(), cell));
        Self { place: Some(place), cells: cells.collect() }
    }
}

/// Rows by location.
pub type Facts<'a> = BTreeMap<String, Row<'a>>;

/// Returns the differences in both directions, one per line, each with a JSON pointer. `holder`
/// returns the pointer to where a row that no other contains would be.
pub fn differences(
    listing: &Facts,
    document: &Facts,
    holder: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut found = Vec::new();
    for (place, listed) in listing {
        let Some(documented) = document.get(place) else {
            let owner = owner(place).and_then(|owner| document.get(owner)?.place);
            let owner = owner.and_then(|owner| target(&owner).ok());
            let pointer = owner.map_or_else(|| holder(place), |owner| owner.pointer());
            found.push(format!("{pointer}: {place} is in the listing, not in the document"));
            continue;
        };
        for (column, Cell { text, .. }) in &listed.cells {
            let other = &documented.cells[column];
            if *text != other.text {
                found.push(format!(
                    "{}: {place}: {column}: the listing says `{text}`, the document says `{}`",
                    pointer(other.place),
                    other.text
                ));
            }
        }
    }
    for (place, row) in document.iter().filter(|(place, _)| !listing.contains_key(*place)) {
        found.push(format!(
            "{}: {place} is in the document, not in the listing",
            pointer(row.place)
        ));
    }
    found
}

/// Returns the row of the value that contains the value of the row `place`.
fn owner(place: &str) -> Option<&str> {
    let name = place.find(' ')? + 1;
    let end = place[name..].rfind(['.', '['])?;
    Some(&place[..name + end])
}

/// Follows a reference, which may be in an `allOf` to have a description.
pub fn target<'a>(schema: &DocumentNode<'a>) -> Result<DocumentNode<'a>, Faults> {
    match schema.elements_of("allOf")?.as_slice() {
        [only] => only.resolved(),
        _ => schema.resolved(),
    }
}

fn pointer(place: Option<DocumentNode>) -> String {
    place.map(|place| place.pointer()).unwrap_or_default()
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

/// Formats a value as JSON, with numbers as in [`number`].
pub fn json(value: &serde_json::Value) -> String {
    value.as_f64().map_or_else(|| value.to_string(), number)
}
