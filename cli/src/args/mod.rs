//! The command line's grammar. The static part is defined here and in the commands; the flags of
//! the models are built from the contract.

pub mod before;
pub mod extra;
pub mod flag;
pub mod globals;
pub mod image;
pub mod model;
pub mod numbered;
pub mod prompt;
pub mod request;
pub mod seeds;
pub mod several;
pub mod size;
pub mod value;

use clap::{Arg, Args, Command};

use crate::{commands, exit};
use imagekiln::Operation;

const EXAMPLES: &str = "\
Examples:
  kiln --simulate generate \"a red fox\" -o fox.png
  kiln edit \"give the cat this hat\" cat.png hat.png -o cat-with-hat.png";

/// The whole grammar. `chosen` is the model of `generate`, `edit` and the commands by task. `used`
/// are the models of `run` and `submit` that need flags.
pub fn grammar(chosen: &'static Operation, used: model::Used<'_>) -> Command {
    // `augment_args` sets a description, which `about` replaces.
    globals::Globals::augment_args(Command::new("kiln"))
        .version(env!("CARGO_PKG_VERSION"))
        .about("Generate and edit pictures with an asynchronous image generation service")
        .after_help(format!(
            "{EXAMPLES}\n\n`kiln --help` lists all options, the settings and the exit codes, and\n\
             `kiln help COMMAND` everything about a command."
        ))
        .after_long_help(format!(
            "{EXAMPLES}\n\n\
             Settings come from flags, the environment and config.toml, in this order; see\n\
             `kiln config --help`. An API key and a base URL are required: `kiln login`,\n\
             IMAGEKILN_API_KEY or IMAGEKILN_API_KEY_FILE, and IMAGEKILN_BASE_URL.\n\
             IMAGEKILN_REGIONAL_BASE_URL is the base URL of regional models, and\n\
             IMAGEKILN_MODEL_PREFIX the prefix of model names if it is not `gen`.\n\
             IMAGEKILN_WEBHOOK_URL and IMAGEKILN_WEBHOOK_SECRET are the webhook URL and its\n\
             signing secret, for requests that do not set their own.\n\
             IMAGEKILN_ALLOW_HTTP=1 allows http:// URLs on other machines.\n\n{}",
            exit::table()
        ))
        .max_term_width(120)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands([commands::generate::command(chosen), commands::edit::command(chosen)])
        .subcommands(commands::by_task::commands(chosen))
        .subcommands([
            commands::run::command(used),
            commands::submit::command(used),
            commands::batch::command(chosen),
            commands::task::command(),
            commands::resume::command(),
            commands::history::command(),
            commands::webhook::command(),
            commands::models::command(),
            commands::simulate::command(),
            commands::login::command(),
            commands::logout::command(),
            commands::config::command(),
            commands::doctor::command(),
            commands::completions::command(),
            commands::man::command(),
            Command::new(before::HELP)
                .about("Print this help, or everything about a command")
                .arg(Arg::new("command").value_name("COMMAND").num_args(0..)),
            Command::new(before::VERSION).about("Print the version"),
        ])
}
