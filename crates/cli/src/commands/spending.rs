//! `kiln spending`: shows what the submissions of this user have cost, those of the history and
//! those of batches.

use std::{collections::BTreeMap, time::SystemTime};

use clap::{Args, ValueEnum, ValueHint};
use serde_json::json;

use super::batch::ledgers;
use crate::{
    context::Context,
    failure::Failure,
    history::costs::{self, Key, Sum},
    text::{Clock, Table, json, printable, when},
};
use imagekiln::text::Credits;

pub const NAME: &str = "spending";

/// Show what your submissions have cost, by day and model
#[derive(Args)]
#[command(after_help = "\
It counts the submissions of the history, and those of the ledgers that this kiln has run with
`kiln batch`, of jobs that have left them, too. A ledger that cannot be read is named. Days are
those of UTC. A submission without a known cost counts with the highest cost of its
model, and in a batch with what its budget reserves.

Examples:
  kiln spending --since 30d --by model
  kiln spending --by ledger,group --ledger foxes/.kiln-batch.db")]
pub struct Options {
    /// What each row is about; several between commas [default: day,group,model]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', value_enum)]
    by: Vec<Column>,
    /// Only submissions since this day: 2026-11-20, or so long ago, such as 7d
    #[arg(long, value_name = "WHEN", value_parser = when)]
    since: Option<SystemTime>,
    /// Only the submissions of this ledger: its file or its URL; repeat it for several
    #[arg(long, value_name = "LEDGER", value_hint = ValueHint::AnyPath)]
    ledger: Vec<String>,
}

/// The parts of a [`Key`], in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Column {
    Day,
    Group,
    Model,
    Profile,
    Ledger,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let clock = Clock::utc();
    let default = || vec![Column::Day, Column::Group, Column::Model];
    let by = if options.by.is_empty() { default() } else { options.by };
    let first_day = options.since.map(|since| clock.day(since));
    let mut rows: BTreeMap<Key, Sum> = BTreeMap::new();
    let mut add = |mut key: Key, sum: Sum| {
        if first_day.as_ref().is_some_and(|first| key.first() < Some(first)) {
            return;
        }
        // The rows are not distinguished by columns that the user has not asked for.
        for (column, value) in Column::value_variants().iter().zip(&mut key) {
            if !by.contains(column) {
                value.clear();
            }
        }
        rows.entry(key).or_default().add(sum);
    };
    if options.ledger.is_empty() {
        let damaged = costs::add(context.process(), &mut add)?;
        if damaged > 0 {
            context.output.warning(&format!(
                "{damaged} submissions of the history are unreadable and not counted; `kiln \
                 history` names them"
            ));
        }
    }
    let unreadable = ledgers::add_spending(context.process(), &options.ledger, &mut add).await?;
    print(context, &rows, &unreadable)
}

fn print(
    context: &Context,
    rows: &BTreeMap<Key, Sum>,
    unreadable: &[(String, String)],
) -> Result<(), Failure> {
    let mut total = Sum::default();
    rows.values().for_each(|sum| total.add(*sum));
    if !context.output.json {
        for (name, why) in unreadable {
            context.output.warning(&format!("{} is not counted: {why}", printable(name)));
        }
    }
    let people = || match rows.len() {
        0 => "nothing was submitted".to_owned(),
        _ => context.process().stdout.table(&table(rows, total)),
    };
    context.output.result(people, || {
        let rows = rows.iter().map(|(key, sum)| {
            let value = |value: &String| json!((!value.is_empty()).then_some(value));
            let members = HEADING.into_iter().zip(key.each_ref().map(value));
            json::with(json!(sum), members)
        });
        let unreadable = unreadable.iter();
        let unreadable = unreadable.map(|(name, why)| json!({ "ledger": name, "message": why }));
        let members = [
            ("event", "spending".into()),
            ("rows", rows.collect()),
            ("unreadable", unreadable.collect()),
        ];
        json::with(json!(total), members)
    })
}

const HEADING: [&str; 10] = [
    "day",
    "group",
    "model",
    "profile",
    "ledger",
    "submissions",
    "without cost",
    "known",
    "estimated",
    "total",
];

fn table(rows: &BTreeMap<Key, Sum>, total: Sum) -> Table<10> {
    let of = |key: &Key, sum: &Sum| {
        let [day, group, model, profile, ledger] = key.clone().map(|cell| printable(&cell));
        let [submissions, unknown] = [sum.submissions, sum.without_cost].map(|n| n.to_string());
        let costs = [sum.credits, sum.estimated, sum.credits + sum.estimated];
        let [credits, estimated, total] = costs.map(|credits| format!("{:.2}", Credits(credits)));
        let unknown = if sum.without_cost == 0 { String::new() } else { unknown };
        let estimated = if sum.without_cost == 0 { String::new() } else { estimated };
        [day, group, model, profile, ledger, submissions, unknown, credits, estimated, total]
    };
    let rows = rows.iter().map(|(key, sum)| of(key, sum));
    let mut key = Key::default();
    key[0] = "total".to_owned();
    Table::with_heading(HEADING, rows.chain([of(&key, &total)]))
        .numbers(&[5, 6, 7, 8, 9])
        .long(&[1, 2, 4])
        .paths(&[4])
        .optional(&[6, 7, 8, 5])
        .without_empty()
}
