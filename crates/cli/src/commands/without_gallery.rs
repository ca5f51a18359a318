//! `kiln gallery` in a program that was compiled without the feature `gallery`.

use std::ffi::OsString;

use clap::Args;

use crate::{context::Context, failure::Failure};

pub const NAME: &str = "gallery";

const ADVICE: &str = "run `cargo run --package imagekiln-cli -- gallery ...` in the repository, or \
                      install all of kiln with `cargo install --path crates/cli`";

/// Write a page to search and compare your pictures (not in this build)
#[derive(Args)]
pub struct Options {
    #[arg(hide = true, num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

#[expect(clippy::unused_async, reason = "like the command")]
pub async fn run(_context: &Context, options: Options) -> Result<(), Failure> {
    drop(options.arguments);
    Err(Failure::usage("this kiln was compiled without `kiln gallery`").advise(ADVICE))
}
