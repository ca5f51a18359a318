//! `cargo xtask check`: checks that all files derived from the contract are up to date. Does not
//! write anything.

use std::{fs, process::ExitCode};

use anyhow::Result;
use clap::Args;

use crate::{derived, repository};

/// Fails if anything is stale, and prints the command that fixes it
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let mut stale = false;
    for derived in derived::files()? {
        if fs::read_to_string(&derived.path).unwrap_or_default() != derived.content {
            stale = true;
            println!("stale: {} (run: cargo xtask regenerate)", derived.path.display());
        }
    }
    if derived::is_outline_stale()? {
        stale = true;
        println!("stale: the outline of the generated code (run: cargo xtask regenerate)");
    }
    for path in derived::pending_snapshots(repository::root()?) {
        stale = true;
        println!("pending: {} (run: cargo insta review)", path.display());
    }
    match stale {
        true => Ok(ExitCode::FAILURE),
        false => {
            println!("the contract is valid, and all files derived from it are up to date");
            Ok(ExitCode::SUCCESS)
        }
    }
}
