//! `kiln history`: lists the submissions of this user and their states.

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::{
    context::Context,
    failure::Failure,
    history::{self, list},
};

pub const NAME: &str = "history";

/// The number of submissions that are listed without `--limit`.
const LIMIT: u32 = 20;

pub fn command() -> Command {
    Command::new(NAME)
        .about("List the submissions and their states, newest first")
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("NUMBER")
                .value_parser(value_parser!(u32).range(1..))
                .help(format!("How many submissions to list [default: {LIMIT}]")),
        )
        .after_help(
            "`kiln task` finds a submission by its number, such as @3, or by @last.\n\
             The history is a directory of files that only you can read: kiln/history in\n\
             $XDG_STATE_HOME or ~/.local/state, in ~/Library/Application Support on macOS, and in\n\
             %LOCALAPPDATA% on Windows. KILN_STATE_DIR is another directory in place of kiln.\n\
             It has the first 200 characters of each prompt, and no keys, secrets or delivery\n\
             URLs. It keeps the last 1000 finished submissions.",
        )
}

pub fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let limit = matches.get_one::<u32>("limit").copied().unwrap_or(LIMIT) as usize;
    let mut entries = history::read(&context.output)?;
    entries.truncate(limit);
    if entries.is_empty() {
        context.output.note("the history is empty");
        return Ok(());
    }
    list::print(&context.output, &entries, "")
}
