//! Lives histories for some minutes, or one again.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::Parser;
use imagekiln_histories::{Totals, live, live_many};

/// Lives histories of paid pictures, and prints the story of each that breaks a promise
#[derive(Parser)]
struct Arguments {
    /// Live the history of this seed only
    #[arg(long, conflicts_with_all = ["minutes", "record"])]
    seed: Option<u64>,
    /// How long to live histories
    #[arg(long, default_value_t = 1)]
    minutes: u64,
    /// Continue after the seeds in this file, and add a line to it
    #[arg(long)]
    record: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(seed) = arguments.seed {
        return Ok(match live(seed) {
            Ok(totals) => {
                println!("{totals:?}");
                ExitCode::SUCCESS
            }
            Err(history) => {
                println!("{history}");
                ExitCode::FAILURE
            }
        });
    }
    let from = arguments.record.as_ref().map_or(Ok(0), next_seed)?;
    let until = now() + Duration::from_secs(60 * arguments.minutes);
    let (totals, broken) = live_many(from, |_| now() < until);
    broken.iter().for_each(|history| println!("{history}"));
    println!("from seed {from}: {totals:?}, broken: {}", broken.len());
    if let Some(record) = &arguments.record {
        write(record, from, &totals, broken.len())?;
    }
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[expect(clippy::disallowed_methods, reason = "a person waits on the real clock")]
fn now() -> Instant {
    Instant::now()
}

/// Returns the first seed that is not recorded. Each line of a record begins with the first seed of
/// a run and the number of its histories.
fn next_seed(record: &PathBuf) -> Result<u64> {
    let text = fs::read_to_string(record).with_context(|| record.display().to_string())?;
    let next = |line: &str| {
        let mut numbers = line.split('\t').map_while(|number| number.parse::<u64>().ok());
        Some(numbers.next()? + numbers.next()?)
    };
    Ok(text.lines().filter_map(next).max().unwrap_or_default())
}

fn write(record: &PathBuf, from: u64, totals: &Totals, broken: usize) -> Result<()> {
    let Totals { histories, runs, killed, charged, saved, given_up, decisions } = totals;
    let broken = broken as u64;
    let numbers =
        [from, *histories, broken, *runs, *killed, *charged, *saved, *given_up, *decisions];
    let line = numbers.map(|number| number.to_string()).join("\t") + "\n";
    OpenOptions::new().append(true).open(record)?.write_all(line.as_bytes())?;
    Ok(())
}
