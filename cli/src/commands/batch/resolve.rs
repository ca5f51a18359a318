//! `kiln batch resolve`: records whether the submission of a job was billed.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};

use super::{place, progress::job_event};
use crate::{context::Context, failure::Failure, sanitize::one_line};
use imagekiln_batch::Resolution;

pub const NAME: &str = "resolve";

pub fn command() -> Command {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new(NAME)
        .about("Record whether the submission of an `unknown` job was billed")
        .arg(Arg::new("name").value_name("NAME").required(true).help("The name of the job"))
        .args([
            flag("paid")
                .help("It was billed: the job becomes `failed`, and its picture is not known"),
            flag("not-paid").help("It was not billed: the next run submits the job again"),
        ])
        .group(ArgGroup::new("resolution").args(["paid", "not-paid"]).required(true))
        .arg(place::arg("the working directory"))
        .after_help(
            "Check your usage with the service first: a job that was billed and is resolved as not \
             paid is paid for twice.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open(matches).await?;
    let name = matches.get_one::<String>("name").map(String::as_str).unwrap_or_default();
    let resolution = match matches.get_flag("paid") {
        true => Resolution::Paid,
        false => Resolution::NotPaid,
    };
    let job = ledger.resolve(name, resolution).await?;
    context.output.result(|| format!("{}: {}", one_line(&job.name), job.state), || job_event(&job))
}
