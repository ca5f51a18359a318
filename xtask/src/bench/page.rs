//! Fills the figures into the template of the page.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::{
    figure::Figure,
    machine,
    rows::{Aim, Row, TABLES},
};

const TEMPLATE: &str = include_str!("performance.md");

/// The figures of cold builds, which are measured separately because they take long.
const BUILDS: &str = include_str!("builds.tsv");

const NOT_MEASURED: &str = "not measured";

/// Returns the page. `lines` are those of the benchmarks and of the description of the machine.
pub fn render(lines: &str) -> Result<String> {
    let figures: Figures = lines.lines().filter_map(Figure::parse).collect();
    let mut page = TEMPLATE.to_owned();
    let mut replace = |name: &str, value: &str| -> Result<()> {
        let place = format!("{{{{{name}}}}}");
        ensure!(page.contains(&place), "the template of the page has no {place}");
        page = page.replace(&place, value.trim_end());
        Ok(())
    };
    for name in ["processor", "cores", "kernel", "rust", "date"] {
        replace(name, machine::fact(lines, &format!("machine.{name}")))?;
    }
    for (name, rows) in TABLES {
        replace(&format!("table {name}"), &table(rows, &figures))?;
    }
    replace("table builds", &builds())?;
    let left = page.find("{{").map(|at| page[at..].lines().next().unwrap_or_default());
    ensure!(left.is_none(), "unknown place in the template: {}", left.unwrap_or_default());
    Ok(page)
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
    let mut text = format!("| | result |{names} aim | met |\n|---|---|{lines}---|---|\n");
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
        let aim =
            row.aim.zip(figure).map(|(aim, figure)| (aim.text(&figure.unit), aim.is_met(figure)));
        let (aim, met) = match aim {
            Some((aim, true)) => (aim, "yes"),
            Some((aim, false)) => {
                if !row.reason.is_empty() && !reasons.contains(row.reason) {
                    reasons.push_str(&format!("\n{}\n", row.reason));
                }
                (aim, "no")
            }
            None => (String::new(), ""),
        };
        text.push_str(&format!("| {} | {result} |{cpu} {aim} | {met} |\n", row.what));
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
        let unit = if unit == "ratio" { "" } else { unit };
        match self {
            Self::AtLeast(aim) => format!("at least {aim} {unit}"),
            Self::AtMost(aim) => format!("at most {aim} {unit}"),
        }
        .trim_end()
        .to_owned()
    }
}

/// Returns the table of cold builds. Its first line has the heads of the columns.
fn builds() -> String {
    let mut text = String::new();
    for (index, line) in BUILDS.lines().enumerate() {
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

    /// Returns a line for every figure of the page.
    fn lines() -> Vec<String> {
        let rows = TABLES.iter().flat_map(|(_, rows)| *rows);
        let names = rows.flat_map(|row| row.cpu.into_iter().flatten().chain([row.figure]));
        names.map(|name| format!("{name:<44}\tratio \t    0.500\t    0.400\t    0.600")).collect()
    }

    #[test]
    fn the_page_has_every_figure_and_no_empty_place() {
        let page = render(&lines().join("\n")).unwrap();
        assert!(!page.contains("{{"), "{page}");
        for row in TABLES.iter().flat_map(|(_, rows)| *rows) {
            let start = format!("| {} | 0.50 (0.40 to 0.60) |", row.what);
            assert!(page.contains(&start), "{start} is missing:\n{page}");
        }
    }

    #[test]
    fn a_figure_that_misses_its_aim_says_why() {
        let render = |value: &str| {
            let lines: Vec<_> = lines().iter().map(|line| line.replace("0.500", value)).collect();
            render(&lines.join("\n")).unwrap()
        };
        let row = |page: &str| {
            let line = page.lines().find(|line| line.starts_with("| rate / reqwest's rate |"));
            line.unwrap().to_owned()
        };
        let reason = "The additional time goes into the promises.";
        let missed = render("0.500");
        assert!(row(&missed).ends_with("| at least 0.8 | no |"), "{}", row(&missed));
        assert!(missed.contains(reason));
        let met = render("0.950");
        assert!(row(&met).ends_with("| at least 0.8 | yes |"), "{}", row(&met));
        assert!(!met.contains(reason));
    }

    #[test]
    fn a_figure_that_no_benchmark_printed_is_not_measured() {
        let mut lines = lines();
        lines.retain(|line| !line.starts_with("waiting.sockets"));
        let lines = lines.join("\n");
        assert_eq!(missing(&lines), ["waiting.sockets"]);
        assert!(render(&lines).unwrap().contains("| sockets | not measured |  |  |"));
    }
}
