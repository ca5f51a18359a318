//! `kiln mcp`: the options of the server for assistants.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{ArgMatches, Args, Command, FromArgMatches as _, ValueHint};

use crate::{
    args::options,
    context::Context,
    failure::Failure,
    mcp::{self, Limits, Rules},
    text::{
        parse::credits,
        times::{deadline, duration},
    },
};

pub const NAME: &str = "mcp";

#[derive(Args)]
struct Options {
    /// The credits that this server may spend until it ends
    #[arg(long, value_name = "CREDITS", value_parser = credits)]
    budget: Option<f64>,
    /// What all servers may spend in a day: those with this history, in a day of UTC
    #[arg(long, value_name = "CREDITS", value_parser = credits)]
    budget_per_day: Option<f64>,
    /// The maximum cost of one picture, also if its price is not known
    #[arg(long, value_name = "CREDITS", value_parser = credits)]
    most_per_picture: Option<f64>,
    /// A folder that may be read and written; pictures go to the first one [default: the working
    /// directory]
    #[arg(long = "folder", value_name = "DIR", value_hint = ValueHint::DirPath)]
    folders: Vec<PathBuf>,
    /// Let images be http(s) URLs, which the service fetches
    #[arg(long)]
    allow_urls: bool,
    /// Serve clients of this machine over HTTP, with the token that is printed, until Ctrl-C
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    listen: Option<SocketAddr>,
    /// How long a call waits for its picture before it returns without it [default: 25s]
    #[arg(long, value_name = "DURATION", value_parser = deadline, hide_short_help = true)]
    #[arg(default_value = "25s", hide_default_value = true)]
    answer_within: Duration,
    /// How long the same call is the same picture, which is not paid again [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    #[arg(default_value = "24h", hide_default_value = true)]
    same_for: Duration,
}

pub fn command() -> Command {
    Command::new(NAME)
        .about("Let assistants make pictures, as an MCP server")
        .args(options::of::<Options>())
        .args(options::shared(options::SERVING))
        .after_help(
            "An assistant starts the server and talks to it over standard input and output. One of \
             the two budgets is required without --simulate.\n\n\
             Examples:\n  kiln mcp --budget-per-day 50 --most-per-picture 5 --folder ~/pictures\n  \
             kiln mcp --simulate",
        )
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches)?;
    let Options { folders, allow_urls, answer_within, same_for, listen, .. } = options;
    if let Some(address) = listen.filter(|address| !address.ip().is_loopback()) {
        return Err(Failure::usage(format!("{address} is reachable from other machines"))
            .advise("listen on 127.0.0.1; port 0 picks a free one"));
    }
    let [start, day] = [options.budget, options.budget_per_day];
    if start.is_none() && day.is_none() && !context.shared.simulate {
        return Err(Failure::usage("an assistant needs a budget")
            .advise("pass --budget or --budget-per-day, or --simulate to try it"));
    }
    let limits = Limits { start, day, picture: options.most_per_picture };
    mcp::serve(context, Rules { limits, folders, allow_urls, answer_within, same_for, listen })
        .await
}
