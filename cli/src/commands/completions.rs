//! `kiln completions SHELL`: models and their flags, as the contract has them.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::{Shell, generate};

use super::{generate::DEFAULT_MODEL, run, submit};
use crate::{
    args::{grammar, model},
    failure::Failure,
    voice::line_on_stdout,
};

pub const NAME: &str = "completions";

pub fn command() -> Command {
    Command::new(NAME).about("Print the completion script of a shell").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(Shell))
            .help("The shell"),
    )
}

pub fn execute(matches: &ArgMatches) -> Result<(), Failure> {
    let shell =
        *matches.get_one::<Shell>("shell").ok_or_else(|| Failure::usage("no shell is named"))?;
    let default =
        model::find(DEFAULT_MODEL).ok_or_else(|| Failure::usage("there is no default model"))?;
    let mut command = grammar(default);
    for name in [run::NAME, submit::NAME] {
        command = command.mut_subcommand(name, |command| command.mut_subcommands(with_plain_name));
    }
    let mut script = Vec::new();
    generate(shell, &mut command, "kiln", &mut script);
    line_on_stdout(&String::from_utf8_lossy(&script))
        .map_err(|error| Failure::file("standard output can't be written", error))
}

/// Scripts make functions of the names, and a slash or a brace fits into none. Such a model is
/// offered by its id, which names it as well.
fn with_plain_name(command: Command) -> Command {
    let name = command.get_name();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    match model::find(name).filter(|_| !is_plain) {
        Some(model) => command.name(model.id).alias(None::<&'static str>),
        None => command,
    }
}
