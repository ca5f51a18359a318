//! `kiln batch adopt`: makes a ledger accept pictures that another ledger has paid for.

use clap::{ArgMatches, Command};

use super::{place, progress::job_event};
use crate::{context::Context, failure::Failure, sanitize::one_line};

pub const NAME: &str = "adopt";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Accept the pictures of another ledger, or a ledger that was moved")
        .arg(place::output_arg("The directory or the bucket with the pictures"))
        .arg(place::arg(place::IN_OUTPUT))
        .after_help(
            "Jobs become `saved` if the file next to a picture has their name and their request. \
             The next run pays for the others. Sends nothing.",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
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
