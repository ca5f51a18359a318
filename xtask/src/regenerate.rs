//! `cargo xtask regenerate`: updates everything that depends on the contract.

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    derived,
    repository::{self, CONTRACT},
};

/// Rewrites all files derived from the contract, and the snapshots of the tests. Review the changes
/// with `git diff`
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    for stale in derived::stale(&repository::read(CONTRACT)?)? {
        fs::write(&stale.path, &stale.content)
            .with_context(|| format!("could not write {}", stale.path.display()))?;
        println!("rewritten: {}", stale.path.display());
    }
    println!("running the tests to update their snapshots ...");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tests = Command::new(cargo)
        .args(["test", "--workspace", "--quiet", "--no-fail-fast"])
        // Changed snapshots are rewritten and do not fail the tests. Other failures still do.
        .envs([("INSTA_UPDATE", "always"), ("INSTA_FORCE_PASS", "1")])
        .env_remove("CI")
        .current_dir(repository::root()?)
        .status()
        .context("could not start cargo test")?;
    if !tests.success() {
        println!("some tests failed: see above");
        return Ok(ExitCode::FAILURE);
    }
    println!("everything is up to date; review the changes: git diff");
    Ok(ExitCode::SUCCESS)
}
