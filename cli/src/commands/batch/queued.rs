//! `kiln batch cancel` and `priority`: change jobs that are not submitted.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use serde_json::json;

use super::{place, select};
use crate::{context::Context, failure::Failure, text::sanitize::one_line};
use imagekiln::text::counted;
use imagekiln_batch::{Filter, JobState, Ledger};

pub const NAMES: [&str; 2] = [CANCEL, PRIORITY];

const CANCEL: &str = "cancel";
const PRIORITY: &str = "priority";

pub fn commands() -> [Command; 2] {
    let priority = Arg::new(PRIORITY)
        .value_name("N")
        .required(true)
        .allow_negative_numbers(true)
        .value_parser(value_parser!(i64))
        .help("Jobs with a higher priority are submitted first; that of new jobs is 0");
    let cancel = Command::new(CANCEL).about("Cancel jobs that are not submitted");
    let cancel = cancel.after_help(
        "A run that is open does not submit them. `kiln batch retry` queues them again.",
    );
    let change = Command::new(PRIORITY)
        .about("Set the priority of jobs that are not submitted")
        .arg(priority)
        .override_usage(
            "kiln batch priority [OPTIONS] <N> <NAME|--all|--model <MODEL>|--group <NAME>>",
        )
        .after_help("A worker has up to 32 jobs that it is about to submit. They keep their turn.");
    [cancel, change].map(of_jobs)
}

/// Adds the arguments that select queued jobs.
fn of_jobs(command: Command) -> Command {
    let names = Arg::new("names")
        .value_name("NAME")
        .action(ArgAction::Append)
        .conflicts_with_all(["all", "model", "group"])
        .help("The names of jobs, which must be `queued`");
    let all = Arg::new("all")
        .long("all")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["model", "group"])
        .help("All queued jobs");
    let jobs = ["names", "all", "model", "group"];
    command
        .arg(names)
        .args(select::model_and_group("All queued jobs"))
        .arg(all)
        .group(ArgGroup::new("jobs").args(jobs).required(true).multiple(true))
        .arg(place::arg("the working directory"))
}

pub async fn execute(context: &Context, name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open(context.process(), matches).await?;
    let priority = if name == PRIORITY { matches.get_one::<i64>(PRIORITY).copied() } else { None };
    let change = async |filter: Filter| match priority {
        Some(priority) => ledger.set_priority(&filter, priority).await,
        None => ledger.cancel(&filter).await,
    };
    let names: Vec<_> = matches.get_many::<String>("names").into_iter().flatten().collect();
    let mut jobs = 0;
    if names.is_empty() {
        jobs = change(filter(matches)).await?;
    }
    for name in &names {
        check_queued(&ledger, name).await?;
    }
    for name in names {
        match change(Filter::all().name(name)).await? {
            // A run may have submitted it in between.
            0 => check_queued(&ledger, name).await?,
            changed => jobs += changed,
        }
    }
    let shown = counted(jobs, "job");
    match priority {
        Some(priority) => context.output.result(
            || format!("the priority of {shown} is {priority}"),
            || json!({ "event": "priority", "jobs": jobs, "priority": priority }),
        ),
        None => context.output.result(
            || format!("{shown} cancelled"),
            || json!({ "event": "cancelled", "jobs": jobs }),
        ),
    }
}

fn filter(matches: &ArgMatches) -> Filter {
    let mut filter = Filter::all();
    if let Some(model) = select::model(matches) {
        filter = filter.operation(model);
    }
    if let Some(group) = select::group(matches) {
        filter = filter.group(group);
    }
    filter
}

async fn check_queued(ledger: &Ledger, name: &str) -> Result<(), Failure> {
    let shown = one_line(name);
    match ledger.job(name).await? {
        Some(job) if job.state == JobState::Queued => Ok(()),
        Some(job) => Err(Failure::usage(format!(
            "job `{shown}` is {}, not queued; it was not changed",
            job.state
        ))),
        None => Err(Failure::usage(format!("the ledger has no job `{shown}`"))),
    }
}
