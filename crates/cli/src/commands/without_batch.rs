//! `kiln batch` in a program that was compiled without the feature `batch`.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::{context::Context, failure::Failure};
use imagekiln::Operation;

pub const NAME: &str = "batch";

const ADVICE: &str = "run `cargo run --package imagekiln-cli -- batch ...` in the repository, or \
                      install all of kiln with `cargo install --path crates/cli`";

/// Takes any arguments, because only the program that has the command can read them.
pub fn command(_chosen: &'static Operation) -> Command {
    let arguments = Arg::new("arguments")
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .hide(true)
        .value_parser(value_parser!(OsString));
    Command::new(NAME)
        .about("Run many jobs from a file or a matrix (not in this build)")
        .after_help(format!("This kiln was compiled without the command: {ADVICE}."))
        .arg(arguments)
}

pub mod ledgers {
    //! This program knows no ledgers.

    use crate::{failure::Failure, history::spending::Row, process::Process};

    pub async fn add_spending(
        _process: &Process,
        names: &[String],
        _add: impl FnMut(Row),
    ) -> Result<Vec<(String, String)>, Failure> {
        let unreadable = |name: &String| (name.clone(), "this kiln has no `kiln batch`".to_owned());
        Ok(names.iter().map(unreadable).collect())
    }
}

pub fn with_jobs(command: Command, _ledger: Option<&str>) -> Command {
    command
}

pub async fn execute(_context: &Context, _matches: &ArgMatches) -> Result<(), Failure> {
    Err(Failure::usage("this kiln was compiled without `kiln batch`").advise(ADVICE))
}
