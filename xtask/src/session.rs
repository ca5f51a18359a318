//! `cargo xtask session`: records the hours in `docs/hours.md` and the picture of the first command
//! again, and makes the pictures of the book.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::{
    process::{cargo, exit_code, status},
    repository,
};

/// Types the commands of `docs/hours.md` in a terminal, against a simulator, and rewrites what it
/// shows and the picture of the first command. Runs the commands of the book, and rewrites its
/// pictures, one of them with Chromium. Review the changes with `git diff`
#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<ExitCode> {
    let mut tests = cargo(&repository::root()?, &["test", "--quiet", "--no-fail-fast"]);
    tests.args(["--package", "imagekiln-cli", "--test", "it", "--test", "shells"]);
    tests.args(["--", "terminal::session::", "book::", "hour"]).env("IMAGEKILN_SESSION", "1");
    Ok(exit_code(status(&mut tests)?))
}
