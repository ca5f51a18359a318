//! `cargo xtask regenerate`: updates everything that depends on the contract.

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{derived, repository};

/// Rewrites all files derived from the contract, and leaves changed snapshots pending for `cargo
/// insta review`
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    for derived in derived::files()? {
        let before = fs::read_to_string(&derived.path).unwrap_or_default();
        if before == derived.content {
            continue;
        }
        fs::write(&derived.path, &derived.content)
            .with_context(|| format!("could not write {}", derived.path.display()))?;
        println!("rewritten: {}", derived.path.display());
    }
    println!("running the tests to find changed snapshots ...");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tests = Command::new(cargo)
        .args(["test", "--workspace", "--quiet", "--no-fail-fast"])
        // Changed snapshots are written next to the old ones and do not fail the tests. Other
        // failures still do.
        .envs([("INSTA_UPDATE", "new"), ("INSTA_FORCE_PASS", "1")])
        .env_remove("CI")
        .current_dir(repository::root()?)
        .status()
        .context("could not start cargo test")?;
    let pending = derived::pending_snapshots(repository::root()?);
    for path in &pending {
        println!("pending: {}", path.display());
    }
    match pending.len() {
        0 => println!("no snapshot changed"),
        count => println!("{count} snapshots changed; review them: cargo insta review"),
    }
    if !tests.success() {
        println!("some tests failed: see above");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
