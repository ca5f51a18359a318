//! `cargo xtask regenerate`: updates everything that depends on the contract.

use std::{fs, process::ExitCode};

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    check, derived, process,
    repository::{self, CONTRACT},
};

/// Rewrites all files derived from the contract, and runs the tests. Each snapshot that differs is
/// written beside the old one; review them with `cargo insta review`
#[derive(Args)]
pub struct Arguments {
    /// Only rewrite the files
    #[arg(long)]
    no_tests: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    for stale in derived::stale(&repository::read(CONTRACT)?)? {
        fs::write(&stale.path, &stale.content)
            .with_context(|| format!("could not write {}", stale.path.display()))?;
        println!("rewritten: {}", stale.path.display());
    }
    if arguments.no_tests {
        return Ok(ExitCode::SUCCESS);
    }
    println!("running the tests to find the snapshots that differ ...");
    let words = ["test", "--workspace", "--quiet", "--no-fail-fast"];
    let mut tests = process::cargo(&repository::root()?, &words);
    // A test goes on after a snapshot that differs, so that one run finds all of them. Nothing is
    // accepted.
    tests.envs([("INSTA_UPDATE", "new"), ("INSTA_FORCE_PASS", "1"), ("INSTA_OUTPUT", "none")]);
    let ended = process::status(tests.env_remove("CI"))?;
    check::pending()?.iter().for_each(|path| println!("new: {path}"));
    if !ended.success() {
        println!("some tests failed: see above");
        return Ok(ExitCode::FAILURE);
    }
    println!("review the changes: git diff, cargo insta review");
    Ok(ExitCode::SUCCESS)
}
