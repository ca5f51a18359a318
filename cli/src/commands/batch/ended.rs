//! `kiln batch retry`, `forget` and `archive`: jobs that have ended.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use serde_json::json;

use super::{place, progress::job_event, select};
use crate::{
    context::Context,
    failure::Failure,
    text::{parse::duration, sanitize::one_line},
};
use imagekiln::text::counted;
use imagekiln_batch::Ledger;

pub const RETRY: &str = "retry";
pub const FORGET: &str = "forget";
pub const ARCHIVE: &str = "archive";

pub fn retry_command() -> Command {
    let command = Command::new(RETRY)
        .about("Queue jobs again that ended without a picture")
        .arg(place::arg("the working directory"))
        .after_help(
            "Sends nothing. A run that is open, or the next one, submits the jobs, which may be \
             billed again.",
        );
    select::of_states(command, Ledger::RETRIABLE)
}

pub async fn retry(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open(context.process(), matches).await?;
    for name in select::names(&ledger, matches).await? {
        let job = ledger.retry(&name).await?;
        context
            .output
            .result(|| format!("{}: {}", one_line(&job.name), job.state), || job_event(&job))?;
    }
    Ok(())
}

pub fn forget_command() -> Command {
    let command = Command::new(FORGET)
        .about("Remove jobs from the ledger; their pictures stay")
        .arg(place::arg("the working directory"))
        .after_help(
            "If a job file still contains a removed job, the next run adds it again, and pays for \
             it again. What the removed jobs have cost still counts for --budget.",
        );
    select::of_states(command, Ledger::FORGETTABLE)
}

pub async fn forget(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open(context.process(), matches).await?;
    for name in select::names(&ledger, matches).await? {
        ledger.forget(&name).await?;
        context.output.result(
            || format!("{}: removed", one_line(&name)),
            || json!({ "event": "removed", "name": name }),
        )?;
    }
    Ok(())
}

pub fn archive_command() -> Command {
    Command::new(ARCHIVE)
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

pub async fn archive(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open(context.process(), matches).await?;
    let age = matches.get_one::<Duration>("older-than").copied().unwrap_or(Duration::MAX);
    let jobs = ledger.archive(age).await?;
    context.output.result(
        || format!("{} archived", counted(jobs, "job")),
        || json!({ "event": "archived", "jobs": jobs }),
    )
}
