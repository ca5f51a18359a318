//! `kiln batch retry`: queues jobs again that ended without a picture.

use clap::{ArgMatches, Command};

use super::{place, progress::job_event, select};
use crate::{context::Context, failure::Failure, sanitize::one_line};
use imagekiln_batch::JobState;

pub const NAME: &str = "retry";

const STATES: [JobState; 4] =
    [JobState::Failed, JobState::Moderated, JobState::Expired, JobState::Cancelled];

pub fn command() -> Command {
    let command = Command::new(NAME)
        .about("Queue jobs again that ended without a picture")
        .arg(place::arg("the working directory"))
        .after_help(
            "Sends nothing. A run that is open, or the next one, submits the jobs, which may be \
             billed again.",
        );
    select::of_states(command, &STATES)
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open(context.process(), matches).await?;
    for name in select::names(&ledger, matches).await? {
        let job = ledger.retry(&name).await?;
        context
            .output
            .result(|| format!("{}: {}", one_line(&job.name), job.state), || job_event(&job))?;
    }
    Ok(())
}
