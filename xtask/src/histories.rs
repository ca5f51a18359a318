//! `cargo xtask histories`: random lives of paid pictures, under faults.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::{
    process::{cargo, exit_code, status},
    proof, repository,
};

/// The record of all runs.
const RECORD: &str = "histories/record.tsv";

/// Lives histories of paid pictures with random faults, deaths and decisions, compares each with
/// the simulator's account, and adds them to `histories/record.tsv`
#[derive(Args)]
pub struct Arguments {
    /// How long to live histories; the next call continues
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Live the history of this seed only, and print its story if it breaks a promise
    #[arg(long)]
    seed: Option<u64>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let mut command = cargo(&root, &["run", "--quiet", "--profile=bench"]);
    command.args(["--package", "imagekiln-histories", "--"]);
    // Nothing is encrypted, and each client would read all certificates of the system.
    command.env("SSL_CERT_FILE", root.join("histories/certificate.pem"));
    command.env("SSL_CERT_DIR", "/nonexistent");
    if let Some(seed) = arguments.seed {
        return Ok(exit_code(status(command.arg(format!("--seed={seed}")))?));
    }
    let minutes = format!("--minutes={}", arguments.minutes);
    let ended = status(command.args([minutes, format!("--record={RECORD}")]))?;
    proof::record("histories", &figure(&repository::read(RECORD)?))?;
    Ok(exit_code(ended))
}

/// Adds up the runs of the record.
fn figure(record: &str) -> String {
    let runs = record.lines().skip(1);
    let runs = runs.map(|run| run.split('\t').filter_map(|cell| cell.parse().ok()).collect());
    let runs: Vec<Vec<u64>> = runs.collect();
    let sum = |column: usize| runs.iter().filter_map(|run| run.get(column)).sum::<u64>();
    let kept = runs.iter().rev().take_while(|run| run.get(2) == Some(&0));
    let kept: u64 = kept.filter_map(|run| run.get(1)).sum();
    let (histories, killed, charged) = (sum(1), sum(4), sum(5));
    format!(
        "{histories} histories with {killed} kills and {charged} paid pictures; the last {kept} \
         broke no promise"
    )
}
