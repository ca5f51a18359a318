//! `cargo xtask`: maintenance commands of this repository, one per file.

mod check;
mod contract;
mod corrections;
mod derived;
mod diff;
mod exercise;
mod histories;
mod interface;
mod kill_test;
mod names;
mod outline;
mod process;
mod quick;
mod regenerate;
mod repository;
mod session;
mod size;
#[cfg(test)]
mod tests;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

/// Maintenance commands of this repository
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
enum Command {
    Quick(quick::Arguments),
    Regenerate(regenerate::Arguments),
    Check(check::Arguments),
    Diff(diff::Arguments),
    Exercise(exercise::Arguments),
    Session(session::Arguments),
    Size(size::Arguments),
    Histories(histories::Arguments),
    KillTest(kill_test::Arguments),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Quick(arguments) => quick::run(&arguments),
        Command::Regenerate(arguments) => regenerate::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Exercise(arguments) => exercise::run(&arguments),
        Command::Session(arguments) => session::run(&arguments),
        Command::Size(arguments) => size::run(&arguments),
        Command::Histories(arguments) => histories::run(&arguments),
        Command::KillTest(arguments) => kill_test::run(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}
