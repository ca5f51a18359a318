//! Puts the figures into the tables of the page.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::{
    figure::Figure,
    machine,
    rows::{Aim, Row, TABLES},
};

/// The durations of builds and checks, which are measured separately because they take long.
const DURATIONS: &str = include_str!("durations.tsv");

const NOT_MEASURED: &str = "not measured";

/// Returns the page with new tables. `lines` are those of the benchmarks and of the description of
/// the machine.
pub fn render(page: &str, lines: &str) -> Result<String> {
    let figures: Figures = lines.lines().filter_map(Figure::parse).collect();
    let mut page = with_table(page, "Performance", &described(lines))?;
    for (title, rows) in TABLES {
        page = with_table(&page, title, &table(rows, &figures))?;
    }
    with_table(&page, "Durations", &durations())
}

/// Replaces the end of a section, from its table on.
fn with_table(page: &str, title: &str, table: &str) -> Result<String> {
    let heading = format!("# {title}\n");
    let start = page.find(&heading).with_context(|| format!("the page has no section {title}"))?;
    let section = &page[start..];
    let end = section.find("\n\n## ").map_or("\n", |at| &section[at..]);
    let from = section[..section.len() - end.len()].find("\n|");
    let from = from.with_context(|| format!("the section {title} has no table"))?;
    Ok(format!("{}\n{}{end}", &page[..start + from], table.trim_end()))
}

/// Returns the table that describes the machine.
fn described(lines: &str) -> String {
    let mut text = "| | |\n|---|---|\n".to_owned();
    for (what, name) in [
        ("date", "date"),
        ("processor", "processor"),
        ("cores", "cores"),
        ("kernel", "kernel"),
        ("compiler", "rust"),
    ] {
        text += &format!("| {what} | {} |\n", machine::fact(lines, &format!("machine.{name}")));
    }
    text
}

/// Returns the names of the figures of the page that no benchmark printed.
pub fn missing(lines: &str) -> Vec<&'static str> {
    let figures: Figures = lines.lines().filter_map(Figure::parse).collect();
    let rows = TABLES.iter().flat_map(|(_, rows)| *rows);
    let names = rows.flat_map(|row| row.cpu.into_iter().flatten().chain([row.figure]));
    names.filter(|name| !figures.contains_key(name)).collect()
}

type Figures<'a> = BTreeMap<&'a str, Figure>;

/// Returns a table, and after it why figures miss their aims.
fn table(rows: &[Row], figures: &Figures) -> String {
    let has_cpu = rows.iter().any(|row| row.cpu.is_some());
    let (names, lines) = if has_cpu { (" CPU time | baseline's |", "---|---|") } else { ("", "") };
    let mut text = format!("| | result |{names} aim |\n|---|---|{lines}---|\n");
    let mut reasons = String::new();
    for row in rows {
        let shown = |name| figures.get(name).map_or(NOT_MEASURED.to_owned(), Figure::median_text);
        let figure = figures.get(row.figure);
        let result = figure.map_or(NOT_MEASURED.to_owned(), Figure::text);
        let cpu = match row.cpu {
            Some([ours, theirs]) => format!(" {} | {} |", shown(ours), shown(theirs)),
            None if has_cpu => " | |".to_owned(),
            None => String::new(),
        };
        let aim = match row.aim.zip(figure) {
            Some((aim, figure)) if aim.is_met(figure) => aim.text(&figure.unit),
            Some((aim, figure)) => {
                if !row.reason.is_empty() && !reasons.contains(row.reason) {
                    reasons.push_str(&format!("\n{}\n", row.reason));
                }
                format!("{}, missed", aim.text(&figure.unit))
            }
            None => String::new(),
        };
        text.push_str(&format!("| {} | {result} |{cpu} {aim} |\n", row.what));
    }
    text + &reasons
}

impl Aim {
    fn is_met(self, figure: &Figure) -> bool {
        match self {
            Self::AtLeast(aim) => figure.median >= aim,
            Self::AtMost(aim) => figure.median <= aim,
        }
    }

    fn text(self, unit: &str) -> String {
        let unit = match unit {
            "ratio" => "",
            "us" => "µs",
            unit => unit,
        };
        match self {
            Self::AtLeast(aim) => format!("≥ {aim} {unit}"),
            Self::AtMost(aim) => format!("≤ {aim} {unit}"),
        }
        .trim_end()
        .to_owned()
    }
}

/// Returns the table of durations. Its first line has the heads of the columns.
fn durations() -> String {
    let mut text = String::new();
    for (index, line) in DURATIONS.lines().enumerate() {
        let cells: Vec<_> = line.split('\t').collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if index == 0 {
            text.push_str(&format!("|{}\n", "---|".repeat(cells.len())));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(lines: &str) -> Result<String> {
        super::render(&crate::repository::read(crate::bench::PAGE)?, lines)
    }

    /// Returns a line for every figure of the page.
    fn lines() -> Vec<String> {
        let rows = TABLES.iter().flat_map(|(_, rows)| *rows);
        let names = rows.flat_map(|row| row.cpu.into_iter().flatten().chain([row.figure]));
        names.map(|name| format!("{name:<44}\tratio \t    0.500\t    0.400\t    0.600")).collect()
    }

    #[test]
    fn the_page_has_every_figure() {
        let page = render(&lines().join("\n")).unwrap();
        assert!(!page.contains(NOT_MEASURED), "{page}");
        for row in TABLES.iter().flat_map(|(_, rows)| *rows) {
            let start = format!("| {} | 0.50 (0.40 to 0.60) |", row.what);
            assert!(page.contains(&start), "{start} is missing:\n{page}");
        }
    }

    #[test]
    fn only_the_tables_are_replaced() {
        let page = "# Performance\n\nText.\n\n| old |\n\n## Polls\n\nMore.\n\n| old |\n\nWhy.\n";
        let page = with_table(page, "Performance", "| new |\n").unwrap();
        let page = with_table(&page, "Polls", "| new |\n").unwrap();
        let expected = "# Performance\n\nText.\n\n| new |\n\n## Polls\n\nMore.\n\n| new |\n";
        assert_eq!(page, expected);
        assert!(with_table(&page, "Webhooks", "| new |\n").is_err());
    }

    #[test]
    fn a_figure_that_misses_its_aim_says_why() {
        let rendered = |value: &str| {
            let lines: Vec<_> = lines().iter().map(|line| line.replace("0.500", value)).collect();
            render(&lines.join("\n")).unwrap()
        };
        let row = |page: &str| {
            let line = page.lines().find(|line| line.starts_with("| from files / ready body |"));
            line.unwrap().to_owned()
        };
        let reason = "Files are read and encoded on another thread";
        let missed = rendered("0.500");
        assert!(row(&missed).ends_with("| ≥ 0.6, missed |"), "{}", row(&missed));
        assert!(missed.contains(reason));
        let met = rendered("0.950");
        assert!(row(&met).ends_with("| ≥ 0.6 |"), "{}", row(&met));
        assert!(!met.contains(reason));
    }

    #[test]
    fn a_figure_that_no_benchmark_printed_is_not_measured() {
        let mut lines = lines();
        lines.retain(|line| !line.starts_with("waiting.sockets"));
        let lines = lines.join("\n");
        assert_eq!(missing(&lines), ["waiting.sockets"]);
        assert!(render(&lines).unwrap().contains("| sockets | not measured |  |"));
    }
}
