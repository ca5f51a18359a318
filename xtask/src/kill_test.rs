//! `cargo xtask kill-test`: kills workers at random moments, with many jobs.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io::{BufRead, BufReader},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::repository;

/// The tests print their summaries after this word.
const SUMMARY: &str = "kill-test ";

/// Kills and suspends workers of `imagekiln-batch`, restarts their database, and compares the
/// ledger with what the simulator charged
#[derive(Args)]
pub struct Arguments {
    /// Repeat the kills and faults of an earlier test, as far as processes allow
    #[arg(long)]
    seed: Option<u64>,
    /// The number of jobs of each scenario
    #[arg(long, default_value_t = 1000)]
    jobs: u64,
    /// The number of kills of each scenario
    #[arg(long, default_value_t = 50)]
    kills: u64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let seed = arguments.seed.unwrap_or_else(seed);
    println!("seed {seed}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--quiet", "--package", "imagekiln-batch", "--test", "integration"]);
    // One scenario at a time, so that they do not slow each other down.
    command.args(["--", "killed::", "--test-threads=1"]);
    command.current_dir(repository::root()?).stdout(Stdio::piped());
    // A missing PostgreSQL is an error.
    command.env("IMAGEKILN_POSTGRES_TESTS", "required");
    command.env("IMAGEKILN_KILL_SEED", seed.to_string());
    command.env("IMAGEKILN_KILL_JOBS", arguments.jobs.to_string());
    command.env("IMAGEKILN_KILL_KILLS", arguments.kills.to_string());
    let mut tests = command.spawn().context("could not start cargo test")?;
    let output = tests.stdout.take().context("cargo test has no output")?;
    let mut summaries = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line.context("could not read the output of cargo test")?;
        match line.strip_prefix(SUMMARY) {
            Some(summary) => summaries.push(summary.to_owned()),
            None => println!("{line}"),
        }
    }
    let status = tests.wait().context("could not wait for cargo test")?;
    println!("seed {seed}");
    summaries.iter().for_each(|summary| println!("{summary}"));
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The standard library seeds its hash maps at random.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
