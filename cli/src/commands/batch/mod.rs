//! `kiln batch`: many jobs from a file.

mod arguments;
mod plan;
#[expect(dead_code, reason = "no command runs batches yet")]
mod progress;
mod run;

use clap::{ArgMatches, Command};

use crate::{context::Context, failure::Failure};
use imagekiln::Operation;

pub const NAME: &str = "batch";

pub fn command(chosen: &'static Operation) -> Command {
    Command::new(NAME)
        .about("Run many jobs from a file or a matrix")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(run::command(chosen))
}

pub fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some((run::NAME, matches)) => run::execute(context, matches),
        _ => Err(Failure::usage("use `kiln batch run`")),
    }
}
