//! `kiln completions SHELL`: prints the script with which a shell asks kiln for completions.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::{context::Context, failure::Failure};

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

pub fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let shell =
        *matches.get_one::<Shell>("shell").ok_or_else(|| Failure::usage("no shell given"))?;
    let written = context.process().line_on_stdout(script(shell).trim_end());
    written.map_err(|error| Failure::file("could not write to standard output", error))
}

/// The script that registers the completion. It finds `kiln` in PATH each time, so it works after
/// an upgrade, and runs nothing of the working directory.
fn script(shell: Shell) -> &'static str {
    match shell {
        Shell::Elvish => include_str!("completions/kiln.elv"),
        Shell::Fish => include_str!("completions/kiln.fish"),
        Shell::PowerShell => include_str!("completions/kiln.ps1"),
        Shell::Zsh => include_str!("completions/kiln.zsh"),
        _ => include_str!("completions/kiln.bash"),
    }
}
