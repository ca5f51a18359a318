//! `kiln batch resolve` and `adopt`: tell a ledger what was paid for, if only a person knows.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};

use super::{place, progress::job_event};
use crate::{context::Context, failure::Failure, service::session, text::sanitize::one_line};
use imagekiln_batch::{Batch, Resolution};

pub const RESOLVE: &str = "resolve";
pub const ADOPT: &str = "adopt";

pub fn resolve_command() -> Command {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new(RESOLVE)
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

pub async fn resolve(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
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

pub fn adopt_command() -> Command {
    Command::new(ADOPT)
        .about("Accept the pictures of another ledger, or a ledger that was moved")
        .arg(place::output_arg("The directory or the bucket with the pictures"))
        .arg(place::arg(place::IN_OUTPUT))
        .after_help(
            "Jobs become `saved` if the file next to a picture has their name and their request. \
             The next run pays for the others. Sends nothing.",
        )
}

pub async fn adopt(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let output = matches.get_one::<String>("output").map(String::as_str).unwrap_or_default();
    let place = place::given_or_in(matches, output)?.ok_or_else(place::missing)?;
    let ledger = place.open_existing(context.process()).await?;
    let (_, ledger) = place::existing(place, ledger)?;
    for job in ledger.adopt_output(output).await? {
        context
            .output
            .result(|| format!("{}: {}", one_line(&job.name), job.state), || job_event(&job))?;
    }
    Ok(())
}
