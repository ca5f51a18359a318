//! The command line's grammar. The static part is written here and in the commands; what belongs to
//! a model is built from the contract.

pub mod before;
pub mod extra;
pub mod flag;
pub mod globals;
pub mod image;
pub mod model;
pub mod request;
pub mod value;

use clap::{Args, Command};
use imagekiln::Operation;

use crate::{commands, exit};

/// The whole grammar. `chosen` is the model whose fields are the flags of `generate` and `edit`.
pub fn grammar(chosen: &'static Operation) -> Command {
    // The options first: with them comes their own description, which is not that of the program.
    globals::Globals::augment_args(Command::new("kiln"))
        .version(env!("CARGO_PKG_VERSION"))
        .about("Pictures of an asynchronous image generation and editing service, from the command line")
        .after_help(format!(
            "Settings come from the environment: IMAGEKILN_API_KEY and IMAGEKILN_BASE_URL, for regional models\n\
             IMAGEKILN_REGIONAL_BASE_URL, and IMAGEKILN_MODEL_PREFIX where model names do not start with `gen`.\n\
             IMAGEKILN_WEBHOOK_URL is where the service sends webhooks, and IMAGEKILN_WEBHOOK_SECRET is the\n\
             secret with which it signs them, for requests that do not set their own.\n\
             IMAGEKILN_ALLOW_HTTP=1 allows addresses with http:// on other machines.\n\n{}",
            exit::table()
        ))
        .max_term_width(120)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands([
            commands::generate::command(chosen),
            commands::edit::command(chosen),
            commands::run::command(),
            commands::submit::command(),
            commands::task::command(),
            commands::webhook::command(),
            commands::models::command(),
            commands::simulate::command(),
            commands::completions::command(),
        ])
}
