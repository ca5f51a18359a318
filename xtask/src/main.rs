//! `cargo xtask`: the chores of this repository, one command a file.

mod diff;

use clap::Parser;
use std::process::ExitCode;

/// The chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Command {
    Diff(diff::Arguments),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Diff(arguments) => diff::run(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}
