//! `kiln completions SHELL`: completes models and their flags, as listed in the contract.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::{Shell, generate};

use super::{generate::DEFAULT_MODEL, run, submit};
use crate::{
    args::{grammar, model},
    failure::Failure,
    output::line_on_stdout,
};

pub const NAME: &str = "completions";

pub fn command() -> Command {
    Command::new(NAME).about("Print a shell completion script").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(Shell))
            .help("The shell"),
    )
}

pub fn execute(matches: &ArgMatches) -> Result<(), Failure> {
    let shell =
        *matches.get_one::<Shell>("shell").ok_or_else(|| Failure::usage("no shell given"))?;
    let default = model::find(DEFAULT_MODEL).ok_or_else(|| Failure::usage("no default model"))?;
    let mut command = grammar(default);
    for name in [run::NAME, submit::NAME] {
        command = command.mut_subcommand(name, |command| command.mut_subcommands(with_plain_name));
    }
    let mut script = Vec::new();
    generate(shell, &mut command, "kiln", &mut script);
    line_on_stdout(&String::from_utf8_lossy(&script))
        .map_err(|error| Failure::file("could not write to standard output", error))
}

/// Scripts turn names into functions, whose names can't contain a slash or a brace. Such a model is
/// offered by its id instead.
fn with_plain_name(command: Command) -> Command {
    let name = command.get_name();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    match model::find(name).filter(|_| !is_plain) {
        Some(model) => command.name(model.id).alias(None::<&'static str>),
        None => command,
    }
}
