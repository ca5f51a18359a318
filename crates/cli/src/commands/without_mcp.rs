//! `kiln mcp` in a program that was compiled without the feature `mcp`.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::{context::Context, failure::Failure};

pub const NAME: &str = "mcp";

const ADVICE: &str = "run `cargo run --package imagekiln-cli -- mcp ...` in the repository, or \
                      install all of kiln with `cargo install --path crates/cli`";

/// Takes any arguments, because only the program that has the command can read them.
pub fn command() -> Command {
    let arguments = Arg::new("arguments")
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .hide(true)
        .value_parser(value_parser!(OsString));
    Command::new(NAME)
        .about("Let assistants make pictures (not in this build)")
        .after_help(format!("This kiln was compiled without the command: {ADVICE}."))
        .arg(arguments)
}

pub async fn execute(_context: &Context, _matches: &ArgMatches) -> Result<(), Failure> {
    Err(Failure::usage("this kiln was compiled without `kiln mcp`").advise(ADVICE))
}
