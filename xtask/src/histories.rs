//! `cargo xtask histories`: random lives of paid pictures, under faults.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::{
    process::{cargo, exit_code, status},
    repository,
};

/// The record of all runs.
const RECORD: &str = "tools/histories/record.tsv";

/// Lives histories of paid pictures with random faults, deaths and decisions, compares each with
/// the simulator's account, and adds them to `tools/histories/record.tsv`
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
    command.env("SSL_CERT_FILE", root.join("tools/histories/certificate.pem"));
    command.env("SSL_CERT_DIR", "/nonexistent");
    if let Some(seed) = arguments.seed {
        return Ok(exit_code(status(command.arg(format!("--seed={seed}")))?));
    }
    let minutes = format!("--minutes={}", arguments.minutes);
    Ok(exit_code(status(command.args([minutes, format!("--record={RECORD}")]))?))
}
