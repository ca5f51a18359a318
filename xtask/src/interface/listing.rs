//! Reads the checked-in lists in normalized form.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::facts::{Facts, NOTHING, Row, alternatives, json};

/// The cell for facts that the interface does not define.
const NOT_SHOWN: &str = "not-shown";

/// The path in rows that hold for every endpoint whose fields are not all shown.
const COMMON: &str = "(common)";

type Cells<'a> = BTreeMap<&'a str, &'a str>;

pub fn operations(list: &str) -> Result<Facts<'static>> {
    let mut facts = Facts::new();
    for mut cells in table(list)? {
        // The general rule for successful submissions applies if the interface does not define the
        // response.
        let mut success = cells["success"].replace(NOT_SHOWN, "AsyncResponse");
        if cells["method"] == "POST" {
            // Events: "A submission with a webhook may answer with AsyncWebhookResponse".
            success += "|AsyncWebhookResponse";
        }
        cells.insert("success", &success);
        cells.insert("open", if has_hidden_fields(&cells) { "yes" } else { "no" });
        cells.remove("not_shown");
        cells.remove("without");
        let place = format!("{} {}", cells["method"], cells["path"]);
        facts.insert(place, row(&cells, ["method", "path"])?);
    }
    Ok(facts)
}

pub fn fields(operations: &str, list: &str) -> Result<Facts<'static>> {
    let mut facts = Facts::new();
    let rows = table(list)?;
    let field = |path: &str, cells: &Cells| -> Result<_> {
        Ok((format!("{path} {}", cells["field"]), row(cells, ["path", "field"])?))
    };
    for cells in rows.iter().filter(|cells| cells["path"] != COMMON) {
        let (place, row) = field(cells["path"], cells)?;
        ensure!(!facts.contains_key(&place), "fields.tsv lists {place} twice");
        facts.insert(place, row);
    }
    for operation in table(operations)?.iter().filter(|cells| has_hidden_fields(cells)) {
        let is_without = |name: &str| operation["without"].split('|').any(|other| other == name);
        let common = rows.iter().filter(|cells| cells["path"] == COMMON);
        for cells in common.filter(|cells| !is_without(cells["field"])) {
            let (place, row) = field(operation["path"], cells)?;
            // The endpoint's own row takes precedence.
            facts.entry(place).or_insert(row);
        }
    }
    Ok(facts)
}

fn has_hidden_fields(operation: &Cells) -> bool {
    operation["not_shown"].ends_with("fields")
}

pub fn responses(list: &str) -> Result<Facts<'static>> {
    let rows = table(list)?.into_iter().map(|cells| {
        let place = format!("{} {}", cells["schema"], cells["field"]);
        Ok((place, row(&cells, ["schema", "field"])?))
    });
    rows.collect()
}

pub fn service(list: &str) -> Result<Facts<'static>> {
    let rows = table(list)?.into_iter();
    rows.map(|cells| Ok((cells["pointer"].to_owned(), row(&cells, ["pointer"])?))).collect()
}

fn table(list: &str) -> Result<Vec<Cells<'_>>> {
    let mut lines = list.lines();
    let columns: Vec<_> = lines.next().context("a list is empty")?.split('\t').collect();
    lines
        .map(|line| {
            let cells: Vec<_> = line.split('\t').collect();
            ensure!(
                cells.len() == columns.len(),
                "expected {} cells in the row `{line}`",
                columns.len()
            );
            Ok(columns.iter().copied().zip(cells).collect())
        })
        .collect()
}

/// Returns the row without the columns that name its place.
fn row<const KEYS: usize>(cells: &Cells, keys: [&str; KEYS]) -> Result<Row<'static>> {
    let others = cells.iter().filter(|(column, _)| !keys.contains(column));
    let cells =
        others.map(|(column, cell)| Ok(((*column).to_owned(), normalized(column, cell)?.into())));
    Ok(Row { place: None, cells: cells.collect::<Result<_>>()? })
}

fn normalized(column: &str, cell: &str) -> Result<String> {
    Ok(match (column, cell) {
        (_, NOTHING) => cell.to_owned(),
        // `OutputFormat` is a string with the values in the column `enum`.
        ("type", "OutputFormat") => "string".to_owned(),
        ("required", NOT_SHOWN) => "no".to_owned(),
        (
            "enum" | "needs" | "not_accepted" | "parameters" | "success" | "statuses"
            | "migrate_to",
            _,
        ) => alternatives(cell.split('|').map(str::to_owned).collect()),
        (
            "default" | "value" | "minimum" | "maximum" | "multiple_of" | "min_length"
            | "max_length",
            _,
        ) => {
            let value = serde_json::from_str(cell);
            json(&value.with_context(|| format!("`{cell}` is not JSON"))?)
        }
        _ => cell.to_owned(),
    })
}
