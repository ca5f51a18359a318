//! `kiln batch`: many jobs from a file, and the ledger that records them.

mod ended;
mod limits;
mod paid;
mod place;
mod progress;
mod queued;
mod report;
mod run;
mod select;
mod spending;
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
            report::command(),
            spending::command(),
        ])
        .subcommands(limits::commands())
        .subcommands(queued::commands())
        .subcommands([
            ended::retry_command(),
            paid::resolve_command(),
            paid::adopt_command(),
            ended::forget_command(),
            ended::archive_command(),
        ])
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    match matches.subcommand() {
        Some((run::NAME, matches)) => run::execute(context, matches).await,
        Some((status::NAME, matches)) => status::execute(context, matches).await,
        Some((ended::RETRY, matches)) => ended::retry(context, matches).await,
        Some((paid::RESOLVE, matches)) => paid::resolve(context, matches).await,
        Some((paid::ADOPT, matches)) => paid::adopt(context, matches).await,
        Some((ended::FORGET, matches)) => ended::forget(context, matches).await,
        Some((ended::ARCHIVE, matches)) => ended::archive(context, matches).await,
        Some((report::NAME, matches)) => report::execute(context, matches).await,
        Some((spending::NAME, matches)) => spending::execute(context, matches).await,
        Some((name, matches)) if limits::NAMES.contains(&name) => {
            limits::execute(context, name, matches).await
        }
        Some((name, matches)) if queued::NAMES.contains(&name) => {
            queued::execute(context, name, matches).await
        }
        _ => Err(Failure::usage("use `kiln batch run`; `kiln batch --help` lists the others")),
    }
}
