//! `kiln batch archive`: removes what a ledger no longer needs of finished jobs.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use serde_json::json;

use super::place;
use crate::{context::Context, failure::Failure, parse::duration};

pub const NAME: &str = "archive";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Remove finished jobs from the ledger; what proves their payment stays")
        .arg(
            Arg::new("older-than")
                .long("older-than")
                .value_name("DURATION")
                .value_parser(duration)
                .required(true)
                .help("The jobs that ended at least this long ago, such as 12h or 30d"),
        )
        .arg(place::arg("the working directory"))
        .after_help(
            "The jobs are no longer listed. Their submissions, tasks and costs stay in the ledger, \
             and a run that adds the same jobs again does not pay for them.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open(context.process(), matches).await?;
    let age = matches.get_one::<Duration>("older-than").copied().unwrap_or(Duration::MAX);
    let jobs = ledger.archive(age).await?;
    let plural = if jobs == 1 { "job" } else { "jobs" };
    context.output.result(
        || format!("{jobs} {plural} archived"),
        || json!({ "event": "archived", "jobs": jobs }),
    )
}
