//! `kiln completions SHELL`: prints the script with which a shell asks kiln for completions.

use clap::Args;
use clap_complete::Shell;

use crate::{context::Context, failure::Failure, output::write_failed};

pub const NAME: &str = "completions";

/// How to install the script of each shell.
const INSTALL: &str = "\
To install it:
  bash        kiln completions bash > ~/.local/share/bash-completion/completions/kiln
  zsh         kiln completions zsh > ~/.zfunc/_kiln   (with ~/.zfunc in fpath, before compinit)
  fish        kiln completions fish > ~/.config/fish/completions/kiln.fish
  elvish      kiln completions elvish >> ~/.config/elvish/rc.elv
  powershell  kiln completions powershell >> $PROFILE";

/// Print a shell completion script
#[derive(Args)]
#[command(after_help = INSTALL)]
pub struct Options {
    /// The shell
    shell: Shell,
}

pub fn run(context: &Context, Options { shell }: Options) -> Result<(), Failure> {
    context.process().line_on_stdout(script(shell).trim_end()).or_else(write_failed)
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
