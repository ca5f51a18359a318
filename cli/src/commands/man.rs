//! `kiln man DIR`: writes the manual pages.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, Command, ValueHint};
use serde_json::json;

use super::{
    grammar, run,
    task::{self, submit},
};
use crate::{context::Context, failure::Failure, models};

pub const NAME: &str = "man";

/// Write the manual pages, one per command
#[derive(Args)]
#[command(after_help = INSTALL)]
pub struct Options {
    /// Where to write them; it is created if it does not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: PathBuf,
}

const INSTALL: &str = "\
To install them for yourself:
  kiln man ~/.local/share/man/man1
Pages of models whose names contain a slash or a brace are named after their ids.";

pub fn run(context: &Context, Options { directory }: Options) -> Result<(), Failure> {
    write(&directory, grammar_with_plain_names()?).map_err(|error| {
        let problem = format!("could not write the manual pages to {}", directory.display());
        Failure::file(problem, error).advise("check the path and its permissions")
    })?;
    context.output.result(
        || format!("wrote the manual pages to {}", directory.display()),
        || json!({ "path": directory }),
    )
}

fn write(directory: &Path, command: Command) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(command, directory)
}

/// The whole grammar, with names that can be those of files.
fn grammar_with_plain_names() -> Result<Command, Failure> {
    let default =
        models::find(models::DEFAULT).ok_or_else(|| Failure::usage("no default model"))?;
    let of_models = |command: Command| command.mut_subcommands(with_plain_name);
    let grammar = grammar(default, &|_| true).mut_subcommand(run::NAME, of_models);
    Ok(grammar.mut_subcommand(task::NAME, |task| task.mut_subcommand(submit::NAME, of_models)))
}

/// A page is named after the id of a model whose name contains a slash or a brace.
fn with_plain_name(command: Command) -> Command {
    let name = command.get_name();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    match models::find(name).filter(|_| !is_plain) {
        Some(model) => command.name(model.id).alias(None::<&'static str>),
        None => command,
    }
}
