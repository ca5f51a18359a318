//! `kiln config completions` and `man`: write the completion scripts and the manual pages, which
//! are installed beside the program.

use std::{fs, path::Path};

use clap::Command;
use clap_complete::Shell;
use serde_json::json;

use super::{
    grammar, run,
    task::{self, submit},
};
use crate::{context::Context, failure::Failure, models, output::write_failed};

/// How to install the script of each shell.
pub const COMPLETIONS: &str = "\
To install it:
  bash        kiln config completions bash > ~/.local/share/bash-completion/completions/kiln
  zsh         kiln config completions zsh > ~/.zfunc/_kiln
  fish        kiln config completions fish > ~/.config/fish/completions/kiln.fish
  elvish      kiln config completions elvish >> ~/.config/elvish/rc.elv
  powershell  kiln config completions powershell >> $PROFILE
zsh needs ~/.zfunc in fpath, before compinit.";

/// Prints the script with which a shell asks kiln for completions. The script looks up `kiln` in
/// PATH each time, so it works after an upgrade, and never runs a program of the working directory.
pub fn completions(context: &Context, shell: Shell) -> Result<(), Failure> {
    let script = match shell {
        Shell::Elvish => include_str!("completions/kiln.elv"),
        Shell::Fish => include_str!("completions/kiln.fish"),
        Shell::PowerShell => include_str!("completions/kiln.ps1"),
        Shell::Zsh => include_str!("completions/kiln.zsh"),
        _ => include_str!("completions/kiln.bash"),
    };
    context.process().line_on_stdout(script.trim_end()).or_else(write_failed)
}

pub const PAGES: &str = "\
To install them for yourself:
  kiln config man ~/.local/share/man/man1
Pages of models whose names contain a slash or a brace are named after their ids.";

pub fn pages(context: &Context, directory: &Path) -> Result<(), Failure> {
    // Each page is named after its command, so the commands get names that can be names of files.
    let of_models = |command: Command| command.mut_subcommands(with_plain_name);
    let grammar = grammar(models::default(), &|_| true)
        .mut_subcommand(run::NAME, of_models)
        .mut_subcommand(task::NAME, |task| task.mut_subcommand(submit::NAME, of_models));
    let written = fs::create_dir_all(directory);
    written.and_then(|()| clap_mangen::generate_to(grammar, directory)).map_err(|error| {
        let problem = format!("could not write the manual pages to {}", directory.display());
        Failure::file(problem, error).advise("check the path and its permissions")
    })?;
    context.output.result(
        || format!("wrote the manual pages to {}", directory.display()),
        || json!({ "path": directory }),
    )
}

/// Renames the command of a model whose name contains a slash or a brace to the id of the model.
fn with_plain_name(command: Command) -> Command {
    let name = command.get_name();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    match models::find(name).filter(|_| !is_plain) {
        Some(model) => command.name(model.id).alias(None::<&'static str>),
        None => command,
    }
}
