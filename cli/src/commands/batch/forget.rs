//! `kiln batch forget`: removes jobs from the ledger.

use clap::{ArgMatches, Command};
use serde_json::json;

use super::{place, select};
use crate::{context::Context, failure::Failure, sanitize::one_line};
use imagekiln_batch::JobState;

pub const NAME: &str = "forget";

const STATES: [JobState; 6] = [
    JobState::Queued,
    JobState::Saved,
    JobState::Failed,
    JobState::Moderated,
    JobState::Expired,
    JobState::Cancelled,
];

pub fn command() -> Command {
    let command = Command::new(NAME)
        .about("Remove jobs from the ledger; their pictures stay")
        .arg(place::arg("the working directory"))
        .after_help(
            "If a job file still contains a removed job, the next run adds it again, and pays for \
             it again. What the removed jobs have cost still counts for --budget.",
        );
    select::of_states(command, &STATES)
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
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
