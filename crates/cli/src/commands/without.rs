//! Stands in for commands whose Cargo feature is turned off in this build.

use std::ffi::OsString;

use clap::{Arg, Command, value_parser};

use crate::failure::Failure;

/// Returns a command that accepts any arguments, because this build does not know those of the real
/// command. Running it fails and says how to get the real one.
pub fn command(name: &'static str, about: &str) -> Command {
    let arguments = Arg::new("arguments")
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .hide(true)
        .value_parser(value_parser!(OsString));
    Command::new(name)
        .about(format!("{about} (not in this build)"))
        .after_help(format!("This kiln was compiled without the command: {}.", advice(name)))
        .arg(arguments)
}

pub fn failure(name: &str) -> Failure {
    Failure::usage(format!("this kiln was compiled without `kiln {name}`")).advise(advice(name))
}

fn advice(name: &str) -> String {
    format!(
        "run `cargo run --package imagekiln-cli -- {name} ...` in the repository, or install all \
         of kiln with `cargo install --path crates/cli`"
    )
}
