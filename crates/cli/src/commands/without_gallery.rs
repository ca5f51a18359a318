//! Stands in for `kiln gallery` in a build without the feature `gallery`.

use std::ffi::OsString;

use clap::Args;

use super::without;
use crate::{context::Context, failure::Failure};

pub const NAME: &str = "gallery";

/// Write a page to search and compare your pictures (not in this build)
#[derive(Args)]
pub struct Options {
    #[arg(hide = true, num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

#[expect(clippy::unused_async, reason = "like the command")]
pub async fn run(_context: &Context, options: Options) -> Result<(), Failure> {
    drop(options.arguments);
    Err(without::failure(NAME))
}
