//! `kiln batch resolve`: records the task of a submission, or whether it was billed.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};

use super::{place, progress::job_event};
use crate::{context::Context, failure::Failure, sanitize::one_line, session};
use imagekiln_batch::{Batch, Resolution};

pub const NAME: &str = "resolve";

pub fn command() -> Command {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new(NAME)
        .about("Record the outcome of the submission of an `unknown` job")
        .arg(Arg::new("name").value_name("NAME").required(true).help("The name of the job"))
        .args([
            flag("paid")
                .help("It was billed: the job becomes `failed`, and its picture is not known"),
            flag("not-paid").help("It was not billed: the next run submits the job again"),
        ])
        .arg(Arg::new("task").long("task").value_name("ID").help(
            "It has this task, which is polled first: the next run saves the picture; also for \
             jobs that were resolved before",
        ))
        .group(ArgGroup::new("resolution").args(["paid", "not-paid", "task"]).required(true))
        .arg(place::arg("the working directory"))
        .after_help(
            "Check your usage with the service first: a job that was billed and is resolved as not \
             paid is paid for twice.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open(context.process(), matches).await?;
    let name = matches.get_one::<String>("name").map(String::as_str).unwrap_or_default();
    let job = match matches.get_one::<String>("task") {
        Some(task) => {
            let (client, _simulator) = session::client(context).await?;
            Batch::open(client, ledger)?.resolve_with_task(name, task).await?
        }
        None if matches.get_flag("paid") => ledger.resolve(name, Resolution::Paid).await?,
        None => ledger.resolve(name, Resolution::NotPaid).await?,
    };
    context.output.result(|| format!("{}: {}", one_line(&job.name), job.state), || job_event(&job))
}
