//! `kiln completions SHELL`: completes models and their flags, as listed in the contract.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use super::{
    by_task, edit,
    generate::{self, DEFAULT_MODEL},
    run, submit,
};
use crate::{
    args::{grammar, model},
    failure::Failure,
    output::line_on_stdout,
};

pub const NAME: &str = "completions";

/// How to install the script of each shell.
const INSTALL: &str = "\
To install it:
  bash        kiln completions bash > ~/.local/share/bash-completion/completions/kiln
  zsh         kiln completions zsh > ~/.zfunc/_kiln   (with ~/.zfunc in fpath, before compinit)
  fish        kiln completions fish > ~/.config/fish/completions/kiln.fish
  elvish      kiln completions elvish >> ~/.config/elvish/rc.elv
  powershell  kiln completions powershell >> $PROFILE";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Print a shell completion script")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(value_parser!(Shell))
                .help("The shell"),
        )
        .after_help(INSTALL)
}

pub fn execute(matches: &ArgMatches) -> Result<(), Failure> {
    let shell =
        *matches.get_one::<Shell>("shell").ok_or_else(|| Failure::usage("no shell given"))?;
    let mut command = with_fields_of_all_models(grammar_with_plain_names()?);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "kiln", &mut script);
    line_on_stdout(&String::from_utf8_lossy(&script))
        .map_err(|error| Failure::file("could not write to standard output", error))
}

/// The whole grammar, with names that can be those of functions and files.
pub fn grammar_with_plain_names() -> Result<Command, Failure> {
    let default = model::find(DEFAULT_MODEL).ok_or_else(|| Failure::usage("no default model"))?;
    let mut command = grammar(default);
    for name in [run::NAME, submit::NAME] {
        command = command.mut_subcommand(name, |command| command.mut_subcommands(with_plain_name));
    }
    Ok(command)
}

/// Offers the fields of all models of a command, because a script does not know the value of
/// `--model`, and the numbered fields that help leaves out.
fn with_fields_of_all_models(mut command: Command) -> Command {
    for name in [generate::NAME, edit::NAME] {
        command = command
            .mut_subcommand(name, |command| model::models().fold(command, model::with_more_fields));
    }
    for task in by_task::TASKS {
        command = command.mut_subcommand(task.name, |command| {
            task.models().fold(command, model::with_more_fields)
        });
    }
    let shown = |command: Command| command.mut_args(|arg| arg.hide(false));
    command.mut_subcommands(|command| shown(command).mut_subcommands(shown))
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
