//! Reads the checked-in lists in normalized form.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::{
    Texts,
    facts::{Cell, Facts, NOTHING, Row, alternatives, json, number},
};

/// The cell for facts that the interface does not define.
const NOT_SHOWN: &str = "not-shown";

/// The path in rows that hold for every endpoint whose fields are not all shown.
const COMMON: &str = "(common)";

type Cells<'a> = BTreeMap<&'a str, &'a str>;

pub fn operations(texts: &Texts) -> Result<Facts<'static>> {
    let rows = table(&texts.operations)?.into_iter().map(|cells| {
        let mut success = vec![shown_or(cells["success"], "AsyncResponse")];
        if cells["method"] == "POST" {
            // Events: "A submission with a webhook may answer with AsyncWebhookResponse".
            success.push("AsyncWebhookResponse".into());
        }
        let row = row([
            ("deprecated", cells["deprecated"].into()),
            ("regional", cells["regional"].into()),
            ("max_reference_images", cells["max_reference_images"].into()),
            ("not_accepted", split(cells["not_accepted"])),
            ("parameters", split(cells["parameters"])),
            // The general rule for successful submissions applies if the interface does not define
            // the response.
            ("success", split(&success.join("|"))),
            ("statuses", split(cells["statuses"])),
            ("migrate_to", split(cells["migrate_to"])),
            ("open", if has_hidden_fields(&cells) { "yes" } else { "no" }.into()),
        ]);
        (format!("{} {}", cells["method"], cells["path"]), row)
    });
    Ok(rows.collect())
}

pub fn fields(texts: &Texts) -> Result<Facts<'static>> {
    let mut facts = Facts::new();
    let rows = table(&texts.fields)?;
    for cells in &rows {
        let place = format!("{} {}", cells["path"], cells["field"]);
        if cells["path"] != COMMON && facts.insert(place, field(cells)?).is_some() {
            bail!("fields.tsv lists {} {} twice", cells["path"], cells["field"]);
        }
    }
    for operation in table(&texts.operations)?.iter().filter(|cells| has_hidden_fields(cells)) {
        for cells in rows.iter().filter(|cells| cells["path"] == COMMON) {
            let place = format!("{} {}", operation["path"], cells["field"]);
            let common = field(cells)?;
            // The endpoint's own row takes precedence.
            facts.entry(place).or_insert(common);
        }
    }
    Ok(facts)
}

fn has_hidden_fields(operation: &Cells) -> bool {
    operation["not_shown"].ends_with("fields")
}

fn field(cells: &Cells) -> Result<Row<'static>> {
    // `OutputFormat` is a string with the values in the column `enum`.
    let named = if cells["type"] == "OutputFormat" { "string" } else { cells["type"] };
    Ok(row([
        ("type", named.into()),
        ("nullable", cells["nullable"].into()),
        ("required", shown_or(cells["required"], "no")),
        ("default", default(cells["default"])?),
        ("minimum", bound(cells["minimum"])?),
        ("maximum", bound(cells["maximum"])?),
        ("multiple_of", bound(cells["multiple_of"])?),
        ("min_length", bound(cells["min_length"])?),
        ("max_length", bound(cells["max_length"])?),
        ("enum", split(cells["enum"])),
        ("note", cells["note"].into()),
    ]))
}

pub fn responses(texts: &Texts) -> Result<Facts<'static>> {
    let rows = table(&texts.responses)?.into_iter().map(|cells| {
        let row = row([
            ("type", cells["type"].into()),
            ("nullable", cells["nullable"].into()),
            ("required", shown_or(cells["required"], "no")),
            ("note", cells["note"].into()),
        ]);
        (format!("{} {}", cells["schema"], cells["field"]), row)
    });
    Ok(rows.collect())
}

pub fn service(texts: &Texts) -> Result<Facts<'static>> {
    let mut facts = Facts::new();
    for cells in table(&texts.service)? {
        facts.insert(cells["pointer"].into(), row([("value", default(cells["value"])?)]));
    }
    Ok(facts)
}

fn table(text: &str) -> Result<Vec<Cells<'_>>> {
    let mut lines = text.lines();
    let columns: Vec<_> = lines.next().context("a list is empty")?.split('\t').collect();
    lines
        .map(|line| {
            let cells: Vec<_> = line.split('\t').collect();
            if cells.len() != columns.len() {
                bail!("expected {} cells in the row `{line}`", columns.len());
            }
            Ok(columns.iter().copied().zip(cells).collect())
        })
        .collect()
}

fn row<const COLUMNS: usize>(cells: [(&'static str, String); COLUMNS]) -> Row<'static> {
    let cells = cells.map(|(column, text)| (column, Cell::from(text)));
    Row { place: None, cells: cells.into() }
}

fn shown_or(cell: &str, otherwise: &str) -> String {
    if cell == NOT_SHOWN { otherwise } else { cell }.into()
}

fn split(cell: &str) -> String {
    alternatives(cell.split('|').map(str::to_owned).collect())
}

fn bound(cell: &str) -> Result<String> {
    match cell {
        NOTHING => Ok(cell.into()),
        cell => Ok(number(cell.parse().with_context(|| format!("`{cell}` is not a number"))?)),
    }
}

fn default(cell: &str) -> Result<String> {
    match cell {
        NOTHING => Ok(cell.into()),
        cell => {
            let value = serde_json::from_str(cell);
            Ok(json(&value.with_context(|| format!("`{cell}` is not JSON"))?))
        }
    }
}
