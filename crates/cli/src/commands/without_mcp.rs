//! Stands in for `kiln mcp` in a build without the feature `mcp`.

use clap::{ArgMatches, Command};

use super::without;
use crate::{context::Context, failure::Failure};

pub const NAME: &str = "mcp";

pub fn command() -> Command {
    without::command(NAME, "Let assistants make pictures")
}

pub async fn execute(_context: &Context, _matches: &ArgMatches) -> Result<(), Failure> {
    Err(without::failure(NAME))
}
