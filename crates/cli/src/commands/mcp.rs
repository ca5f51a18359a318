//! `kiln mcp`: the command that starts the server for assistants.

use clap::{ArgMatches, Command, FromArgMatches as _};

use crate::{
    args::options,
    context::Context,
    failure::Failure,
    mcp::{self, Limits, Rules},
};

pub const NAME: &str = "mcp";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Let assistants make pictures, as an MCP server")
        .args(options::of::<Rules>())
        .args(options::shared(options::SERVING))
        .after_help(
            "An assistant starts the server and talks to it over standard input and output. One of \
             the two budgets is required without --simulate.\n\n\
             Examples:\n  kiln mcp --budget-per-day 50 --most-per-picture 5 --folder ~/pictures\n  \
             kiln mcp --simulate",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let rules = Rules::from_arg_matches(matches)?;
    if let Some(address) = rules.listen.filter(|address| !address.ip().is_loopback()) {
        return Err(Failure::usage(format!("{address} is reachable from other machines"))
            .advise("listen on 127.0.0.1; port 0 picks a free one"));
    }
    let Limits { start, day, .. } = rules.limits;
    if start.is_none() && day.is_none() && !context.shared.simulate {
        return Err(Failure::usage("an assistant needs a budget")
            .advise("pass --budget or --budget-per-day, or --simulate to try it"));
    }
    mcp::serve(context, rules).await
}
