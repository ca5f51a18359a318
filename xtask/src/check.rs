//! `cargo xtask check`: whether everything that is derived from the contract is up to date. Writes
//! nothing.

use std::{fs, process::ExitCode};

use anyhow::Result;
use clap::Args;

use crate::derived;

/// Fails on anything stale, and prints the command that mends it.
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let mut stale = false;
    for derived in derived::files()? {
        if fs::read_to_string(&derived.path).unwrap_or_default() != derived.content {
            stale = true;
            println!("stale: {} (mend it: cargo xtask regenerate)", derived.path.display());
        }
    }
    if derived::is_outline_stale()? {
        stale = true;
        println!("stale: the outline of the generated code (mend it: cargo xtask regenerate)");
    }
    for path in derived::pending_snapshots() {
        stale = true;
        println!("pending: {} (mend it: cargo insta review)", path.display());
    }
    match stale {
        true => Ok(ExitCode::FAILURE),
        false => {
            println!("the contract is valid, and all that is derived from it is up to date");
            Ok(ExitCode::SUCCESS)
        }
    }
}
