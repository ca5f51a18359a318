//! `cargo xtask kill-test`: kills workers at random moments, with many jobs.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    process::ExitCode,
};

use anyhow::{Result, ensure};
use clap::{Args, builder::RangedU64ValueParser};

use crate::{
    process::{cargo, exit_code, status},
    repository,
};

/// Kills, suspends and disconnects workers of `imagekiln-batch`, kills their database, and compares
/// the ledger with what the simulator charged
#[derive(Args)]
pub struct Arguments {
    /// Repeat the kills and faults of an earlier test, as far as processes allow
    #[arg(long)]
    seed: Option<u64>,
    /// The number of jobs of the fleet; a single worker has a tenth of them
    #[arg(long, default_value_t = 10_000, value_parser = at_least(400))]
    jobs: u64,
    /// The number of kills in the fleet; a single worker is killed a quarter as often
    #[arg(long, default_value_t = 200, value_parser = at_least(4))]
    kills: u64,
    /// The number of processes of the fleet
    #[arg(long, default_value_t = 4, value_parser = at_least(3))]
    processes: u64,
    /// The number of kills of the fleet's database server
    #[arg(long, default_value_t = 20, value_parser = at_least(1))]
    server_kills: u64,
}

fn at_least(least: u64) -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(least..)
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { kills, server_kills, .. } = arguments;
    ensure!(kills >= server_kills, "more kills of the server than of workers");
    // The standard library seeds its hash maps at random.
    let seed = arguments.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("seed {seed}");
    let mut tests = cargo(&repository::root()?, &["test", "--quiet", "--package"]);
    tests.args(["imagekiln-batch", "--test", "integration", "--", "killed::"]);
    // One scenario at a time, so that they do not slow each other down.
    tests.args(["--test-threads=1", "--nocapture"]);
    // A missing PostgreSQL is an error.
    tests.env("IMAGEKILN_POSTGRES_TESTS", "required");
    tests.env("IMAGEKILN_KILL_SEED", seed.to_string());
    tests.env("IMAGEKILN_KILL_JOBS", arguments.jobs.to_string());
    tests.env("IMAGEKILN_KILL_KILLS", arguments.kills.to_string());
    tests.env("IMAGEKILN_KILL_PROCESSES", arguments.processes.to_string());
    tests.env("IMAGEKILN_KILL_SERVER_KILLS", arguments.server_kills.to_string());
    let ended = status(&mut tests)?;
    println!("seed {seed}");
    Ok(exit_code(ended))
}
