//! `kiln man DIR`: writes the manual pages.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches, Command, value_parser};

use super::completions;
use crate::{
    failure::Failure,
    output::{line_on_stdout, write_failed},
};

pub const NAME: &str = "man";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Write the manual pages, one per command")
        .arg(
            Arg::new("directory")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Where to write them; it is created if it does not exist"),
        )
        .after_help(
            "To install them for yourself:\n  kiln man ~/.local/share/man/man1\n\
             Pages of models whose names contain a slash or a brace are named after their ids.",
        )
}

pub fn execute(matches: &ArgMatches) -> Result<(), Failure> {
    let directory = matches
        .get_one::<PathBuf>("directory")
        .ok_or_else(|| Failure::usage("no directory given"))?;
    let command = completions::grammar_with_plain_names()?;
    write(directory, command).map_err(|error| {
        let problem = format!("could not write the manual pages to {}", directory.display());
        Failure::file(problem, error).advise("check the path and its permissions")
    })?;
    line_on_stdout(&format!("wrote the manual pages to {}", directory.display()))
        .or_else(write_failed)
}

fn write(directory: &Path, command: Command) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(command, directory)
}
