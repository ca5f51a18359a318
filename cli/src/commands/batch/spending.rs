//! `kiln batch spending`: what the submissions of a ledger cost, by day, group and model.

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use super::place;
use crate::{
    context::Context,
    failure::Failure,
    text::{sanitize::one_line, table::Table},
};
use imagekiln_batch::SpendingRow;

pub const NAME: &str = "spending";

const HEADER: [&str; 8] =
    ["day", "group", "model", "submissions", "without cost", "known", "estimated", "total"];

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
    let people = || match &rows[..] {
        [] => "the ledger contains no submissions".to_owned(),
        rows => context.process().stdout.table(&table(rows)),
    };
    context.output.result(people, || for_programs(&rows))
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

    fn cells(&self, [day, group, model]: [String; 3]) -> [String; HEADER.len()] {
        let counts = [self.submissions, self.without_cost].map(|count| count.to_string());
        let costs = [self.credits, self.estimated, self.credits + self.estimated];
        let [submissions, unknown] = counts;
        let [known, estimated, total] = costs.map(|credits| format!("{credits:.2}"));
        [day, group, model, submissions, unknown, known, estimated, total]
    }
}

fn table(rows: &[SpendingRow]) -> Table<8> {
    let cells = rows.iter().map(|row| {
        let group = row.group.as_deref().map(one_line).unwrap_or_default();
        let texts = [row.day.clone(), group, row.operation.clone()];
        Sum::of(std::slice::from_ref(row)).cells(texts)
    });
    let total = Sum::of(rows).cells(["total".to_owned(), String::new(), String::new()]);
    Table::with_heading(HEADER, cells.chain([total]))
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
