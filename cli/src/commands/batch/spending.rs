//! `kiln batch spending`: what the submissions of a ledger cost, by day, group and model.

use clap::Args;
use serde_json::{Value, json};

use super::place::{Access, LedgerOption};
use crate::{
    context::Context,
    failure::Failure,
    text::{sanitize::one_line, table::Table},
};
use imagekiln_batch::SpendingRow;

const HEADER: [&str; 8] =
    ["day", "group", "model", "submissions", "without cost", "known", "estimated", "total"];

/// Show what the submissions cost, by day, group and model
#[derive(Args)]
#[command(after_help = "Costs are in credits, and days in UTC. A submission without a known cost \
                        is estimated at the highest known cost of its model. Jobs that left the \
                        ledger count, too.")]
pub struct Options {
    #[command(flatten)]
    ledger: LedgerOption,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let rows = options.ledger.open(context, Access::Read).await?.spending().await?;
    let people = || match &rows[..] {
        [] => "the ledger contains no submissions".to_owned(),
        rows => context.process().stdout.table(&table(rows)),
    };
    context.output.result(people, || for_programs(&rows))
}

/// The sums of all rows.
fn total(rows: &[SpendingRow]) -> Option<SpendingRow> {
    let mut total = rows.first()?.clone();
    (total.day, total.group, total.operation) = ("total".to_owned(), None, String::new());
    for row in rows.iter().skip(1) {
        total.submissions += row.submissions;
        total.without_cost += row.without_cost;
        total.credits += row.credits;
        total.estimated += row.estimated;
    }
    Some(total)
}

fn table(rows: &[SpendingRow]) -> Table<8> {
    let cells = rows.iter().cloned().chain(total(rows)).map(|row| {
        let group = row.group.as_deref().map(one_line).unwrap_or_default();
        let [submissions, unknown] = [row.submissions, row.without_cost].map(|n| n.to_string());
        let costs = [row.credits, row.estimated, row.credits + row.estimated];
        let [known, estimated, total] = costs.map(|credits| format!("{credits:.2}"));
        [row.day, group, row.operation, submissions, unknown, known, estimated, total]
    });
    Table::with_heading(HEADER, cells)
        .numbers(&[3, 4, 5, 6, 7])
        .long(&[1, 2])
        .optional(&[4, 5, 6, 3])
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
    let total = total(rows);
    json!({
        "event": "spending",
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "submissions": total.as_ref().map_or(0, |total| total.submissions),
        "without_cost": total.as_ref().map_or(0, |total| total.without_cost),
        "credits": total.as_ref().map_or(0.0, |total| total.credits),
        "estimated": total.as_ref().map_or(0.0, |total| total.estimated),
    })
}
