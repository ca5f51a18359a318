//! `kiln webhook listen|verify`: looks at webhooks, live or recorded. Nothing is polled, and the
//! key is not used.

mod claims;
mod listen;
mod refused;
mod scheme;
mod secrets;
mod verify;

use clap::{ArgMatches, Command};

use crate::{context::Context, failure::Failure};

pub const NAME: &str = "webhook";

/// The largest body that is read, in bytes.
const MAX_BODY: usize = 1024 * 1024;

pub fn command() -> Command {
    Command::new(NAME)
        .about("Receive webhooks, or verify a recorded one")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([listen::command(), verify::command()])
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (action, matches) =
        matches.subcommand().ok_or_else(|| Failure::usage("give listen or verify"))?;
    if context.globals.simulate {
        return Err(Failure::usage("the simulator of --simulate ends with its command and sends no webhooks")
            .advise(
                "leave out --simulate; run `kiln simulate` in another terminal, and submit to it with a webhook_url",
            ));
    }
    match action {
        listen::NAME => listen::execute(context, matches).await,
        _ => verify::execute(context, matches),
    }
}
