//! Lives histories for some minutes, or one again.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use imagekiln_histories::{Totals, live};

/// Lives histories of paid pictures, and prints the story of each that breaks a promise
#[derive(Parser)]
struct Arguments {
    /// Live the history of this seed only, and print its story
    #[arg(long)]
    seed: Option<u64>,
    /// How long to live histories
    #[arg(long, default_value_t = 1)]
    minutes: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
}

#[expect(clippy::disallowed_methods, reason = "a person waits on the real clock")]
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let started = Instant::now();
    let limit = Duration::from_secs(60 * arguments.minutes);
    let mut totals = Totals::default();
    let (mut seed, mut broken) = (arguments.seed.unwrap_or(arguments.from), 0);
    loop {
        match live(seed) {
            Ok(lived) => totals += lived,
            Err(history) => {
                broken += 1;
                println!("{history}");
            }
        }
        seed += 1;
        if arguments.seed.is_some() || started.elapsed() >= limit {
            break;
        }
    }
    println!("histories up to {seed}, broken: {broken}, {totals:?}");
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
