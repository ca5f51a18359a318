//! `kiln batch spending`: what the submissions of a ledger cost, by day, group and model.

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use super::place;
use crate::{context::Context, failure::Failure, text::sanitize::one_line};
use imagekiln_batch::SpendingRow;

pub const NAME: &str = "spending";

const HEADER: [&str; 8] =
    ["day", "group", "model", "submissions", "without cost", "known", "estimated", "total"];

/// The columns with text, which are aligned to the left.
const TEXTS: usize = 3;

pub fn command() -> Command {
    Command::new(NAME)
        .about("Show what the submissions cost, by day, group and model")
        .arg(place::arg("the working directory"))
        .after_help(
            "Costs are in credits, and days in UTC. A submission without a known cost is estimated \
             at the highest known cost of its model. Jobs that left the ledger count, too.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open_to_read(context.process(), matches).await?;
    let rows = ledger.spending().await?;
    context.output.result(|| for_people(&rows), || for_programs(&rows))
}

/// The submissions and the costs of some rows.
#[derive(Default)]
struct Sum {
    submissions: u64,
    without_cost: u64,
    credits: f64,
    estimated: f64,
}

impl Sum {
    fn of(rows: &[SpendingRow]) -> Self {
        rows.iter().fold(Self::default(), |sum, row| Self {
            submissions: sum.submissions + row.submissions,
            without_cost: sum.without_cost + row.without_cost,
            credits: sum.credits + row.credits,
            estimated: sum.estimated + row.estimated,
        })
    }

    fn cells(&self, [day, group, model]: [String; TEXTS]) -> [String; HEADER.len()] {
        let counts = [self.submissions, self.without_cost].map(|count| count.to_string());
        let costs = [self.credits, self.estimated, self.credits + self.estimated];
        let [submissions, unknown] = counts;
        let [known, estimated, total] = costs.map(|credits| format!("{credits:.2}"));
        [day, group, model, submissions, unknown, known, estimated, total]
    }
}

fn for_people(rows: &[SpendingRow]) -> String {
    if rows.is_empty() {
        return "the ledger contains no submissions".to_owned();
    }
    let mut table = vec![HEADER.map(str::to_owned)];
    table.extend(rows.iter().map(|row| {
        let group = row.group.as_deref().map(one_line).unwrap_or_default();
        let texts = [row.day.clone(), group, row.operation.clone()];
        Sum::of(std::slice::from_ref(row)).cells(texts)
    }));
    table.push(Sum::of(rows).cells(["total".to_owned(), String::new(), String::new()]));
    let mut widths = [0; HEADER.len()];
    for cells in &table {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String; HEADER.len()]| {
        let cells = cells.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column < TEXTS { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    table.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn for_programs(rows: &[SpendingRow]) -> Value {
    let row = |row: &SpendingRow| {
        json!({
            "day": row.day,
            "group": row.group,
            "model": row.operation,
            "submissions": row.submissions,
            "without_cost": row.without_cost,
            "credits": row.credits,
            "estimated": row.estimated,
        })
    };
    let sum = Sum::of(rows);
    json!({
        "event": "spending",
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "submissions": sum.submissions,
        "without_cost": sum.without_cost,
        "credits": sum.credits,
        "estimated": sum.estimated,
    })
}
