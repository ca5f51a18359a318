//! `cargo xtask`: maintenance commands of this repository, one per file.

mod bench;
mod binary;
mod check;
mod clients;
mod contract;
mod corrections;
mod derived;
mod diff;
mod dist;
mod exercise;
mod generators;
mod histories;
mod interface;
mod kill_test;
#[cfg(test)]
mod mutations;
mod names;
mod outline;
mod process;
mod public_api;
mod quick;
mod regenerate;
mod registry;
mod release;
mod release_check;
mod repository;
mod session;
mod size;
mod tidy;
mod windows;

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
    Generators(generators::Arguments),
    Clients(clients::Arguments),
    Session(session::Arguments),
    Size(size::Arguments),
    Bench(bench::Arguments),
    Histories(histories::Arguments),
    KillTest(kill_test::Arguments),
    Dist(dist::Arguments),
    Windows(windows::Arguments),
    PublicApi(public_api::Arguments),
    ReleaseCheck(release_check::Arguments),
    Packages(registry::Arguments),
    Release(release::Arguments),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Quick(arguments) => quick::run(&arguments),
        Command::Regenerate(arguments) => regenerate::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Exercise(arguments) => exercise::run(&arguments),
        Command::Generators(arguments) => generators::run(&arguments),
        Command::Clients(arguments) => clients::run(&arguments),
        Command::Session(arguments) => session::run(&arguments),
        Command::Size(arguments) => size::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Histories(arguments) => histories::run(&arguments),
        Command::KillTest(arguments) => kill_test::run(&arguments),
        Command::Dist(arguments) => dist::run(&arguments),
        Command::Windows(arguments) => windows::run(&arguments),
        Command::PublicApi(arguments) => public_api::run(&arguments),
        Command::ReleaseCheck(arguments) => release_check::run(&arguments),
        Command::Packages(arguments) => registry::run(&arguments),
        Command::Release(arguments) => release::run(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_page_says_when_each_command_is_needed() {
        let page = repository::read("CONTRIBUTING.md").unwrap();
        let mut lines =
            page.lines().skip_while(|line| *line != "| command | needed after a change of |");
        let table = lines.by_ref().skip(2).take_while(|line| !line.is_empty());
        let cells = table.flat_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(','));
        let mut listed: Vec<_> = cells.map(|name| name.trim().trim_matches('`')).collect();
        listed.sort_unstable();
        let commands = Command::command();
        let mut names: Vec<_> =
            commands.get_subcommands().map(|command| command.get_name()).collect();
        names.sort_unstable();
        assert_eq!(listed, names);
    }
}
