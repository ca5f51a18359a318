//! `cargo xtask session`: records the hours in `docs/hours.md` and the picture of the first command
//! again, and makes the pictures of the book.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Args;

use crate::repository;

/// Types the commands of `docs/hours.md` in a terminal, against a simulator, and rewrites what it
/// shows and the picture of the first command. Runs the commands of the book, and rewrites its
/// pictures, one of them with Chromium. Review the changes with `git diff`
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let recorded = Command::new(cargo)
        .args(["test", "--quiet", "--no-fail-fast"])
        .args(["--package", "imagekiln-cli", "--test", "it", "--test", "shells"])
        .args(["--", "terminal::session::", "book::", "hour"])
        .env("IMAGEKILN_SESSION", "1")
        .current_dir(repository::root()?)
        .status()
        .context("could not start cargo test")?;
    Ok(if recorded.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
