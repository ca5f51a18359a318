//! `kiln batch`: many jobs from a file, and the ledger that records them.

mod adopt;
mod forget;
mod place;
mod progress;
mod report;
mod resolve;
mod retry;
mod run;
mod select;
mod status;

use clap::{ArgMatches, Command};

use crate::{context::Context, failure::Failure};
use imagekiln::Operation;

pub const NAME: &str = "batch";

pub fn command(chosen: &'static Operation) -> Command {
    Command::new(NAME)
        .about("Run many jobs from a file or a matrix, and resume them")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([
            run::command(chosen),
            status::command(),
            retry::command(),
            resolve::command(),
            adopt::command(),
            forget::command(),
            report::command(),
        ])
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some((run::NAME, matches)) => run::execute(context, matches).await,
        Some((status::NAME, matches)) => status::execute(context, matches).await,
        Some((retry::NAME, matches)) => retry::execute(context, matches).await,
        Some((resolve::NAME, matches)) => resolve::execute(context, matches).await,
        Some((adopt::NAME, matches)) => adopt::execute(context, matches).await,
        Some((forget::NAME, matches)) => forget::execute(context, matches).await,
        Some((report::NAME, matches)) => report::execute(context, matches).await,
        _ => Err(Failure::usage("use `kiln batch run`; `kiln batch --help` lists the others")),
    }
}
