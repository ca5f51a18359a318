//! Reads the checked-in lists in normalized form.

use std::collections::HashMap;

use crate::facts::{Facts, NOTHING, Row, alternatives, json, number};

/// The cell for facts that the interface does not define.
const NOT_SHOWN: &str = "not-shown";

pub fn operations() -> Facts {
    table(include_str!("operations.tsv"))
        .into_iter()
        .map(|cells| {
            let row = Row::from([
                ("deprecated", cells["deprecated"].into()),
                ("regional", cells["regional"].into()),
                ("max_reference_images", cells["max_reference_images"].into()),
                ("parameters", split(cells["parameters"])),
                // The general rule for successful submissions applies if the interface does not
                // define the response.
                ("success", split(shown_or(cells["success"], "AsyncResponse"))),
            ]);
            (format!("{} {}", cells["method"], cells["path"]), row)
        })
        .collect()
}

/// Returns the paths with gaps: fields, their flags or the response.
pub fn not_shown() -> Vec<(&'static str, &'static str)> {
    let mut open = Vec::new();
    for cells in table(include_str!("operations.tsv")) {
        if cells["not_shown"] != NOTHING {
            open.push((cells["path"], cells["not_shown"]));
        }
        if cells["success"] == NOT_SHOWN {
            open.push((cells["path"], "response"));
        }
    }
    open
}

pub fn fields() -> Facts {
    let rows = table(include_str!("fields.tsv"));
    let count = rows.len();
    let facts: Facts = rows
        .into_iter()
        .map(|cells| {
            let row = Row::from([
                ("type", field_type(cells["type"]).into()),
                ("nullable", cells["nullable"].into()),
                ("required", shown_or(cells["required"], "no").into()),
                ("default", default(cells["default"])),
                ("minimum", bound(cells["minimum"])),
                ("maximum", bound(cells["maximum"])),
                ("multiple_of", bound(cells["multiple_of"])),
                ("min_length", bound(cells["min_length"])),
                ("max_length", bound(cells["max_length"])),
                ("enum", split(cells["enum"])),
                ("note", cells["note"].into()),
                ("other keywords", NOTHING.into()),
            ]);
            (format!("{} {}", cells["path"], cells["field"]), row)
        })
        .collect();
    assert_eq!(facts.len(), count, "fields.tsv lists a field twice");
    facts
}

pub fn responses() -> Facts {
    table(include_str!("responses.tsv"))
        .into_iter()
        .map(|cells| {
            let row = Row::from([
                ("type", cells["type"].into()),
                ("nullable", cells["nullable"].into()),
                ("required", shown_or(cells["required"], "no").into()),
            ]);
            (format!("{} {}", cells["schema"], cells["field"]), row)
        })
        .collect()
}

fn table(text: &'static str) -> Vec<HashMap<&'static str, &'static str>> {
    let mut lines = text.lines();
    let columns: Vec<_> = lines.next().expect("a heading").split('\t').collect();
    lines
        .map(|line| {
            let cells: Vec<_> = line.split('\t').collect();
            assert_eq!(cells.len(), columns.len(), "cells in the row {line:?}");
            columns.iter().copied().zip(cells).collect()
        })
        .collect()
}

/// `OutputFormat` is a string with the values in the column `enum`.
fn field_type(cell: &'static str) -> &'static str {
    if cell == "OutputFormat" { "string" } else { cell }
}

fn shown_or(cell: &'static str, otherwise: &'static str) -> &'static str {
    if cell == NOT_SHOWN { otherwise } else { cell }
}

fn split(cell: &str) -> String {
    alternatives(cell.split('|').map(str::to_owned).collect())
}

fn bound(cell: &str) -> String {
    if cell == NOTHING {
        return cell.into();
    }
    number(cell.parse().unwrap_or_else(|_| panic!("{cell:?} is not a number")))
}

fn default(cell: &str) -> String {
    if cell == NOTHING {
        return cell.into();
    }
    json(&serde_json::from_str(cell).unwrap_or_else(|_| panic!("{cell:?} is not JSON")))
}
