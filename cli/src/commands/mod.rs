//! The commands, one per file: their arguments and what they do. Here is the grammar of all. Its
//! static part is defined in the commands; the flags of the models are built from the contract.

#[cfg(feature = "batch")]
pub mod batch;
#[cfg(not(feature = "batch"))]
#[path = "without_batch.rs"]
pub mod batch;
pub mod chosen_model;
pub mod completions;
pub mod config;
pub mod doctor;
pub mod edit;
pub mod generate;
pub mod history;
pub mod login;
pub mod man;
pub mod models;
pub mod resume;
pub mod run;
pub mod simulate;
pub mod submit;
pub mod task;
pub mod tools;
pub mod webhook;

use clap::{Arg, ArgMatches, Args, Command};

use crate::{
    args::{globals::Globals, model},
    context::Context,
    failure::{
        Failure,
        exit::{self, Exit},
    },
};
use imagekiln::Operation;

/// The commands that are spelled as flags, too.
pub const HELP: &str = "help";
pub const VERSION: &str = "version";

const EXAMPLES: &str = "\
Examples:
  kiln --simulate generate \"a red fox\" -o fox.png
  kiln edit \"give the cat this hat\" cat.png hat.png -o cat-with-hat.png";

/// The whole grammar. `chosen` is the model of `generate`, `edit` and the tools. `used`
/// are the models of `run` and `submit` that need flags.
pub fn grammar(chosen: &'static Operation, used: model::Used<'_>) -> Command {
    // `augment_args` sets a description, which `about` replaces.
    Globals::augment_args(Command::new("kiln"))
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
        .subcommands([generate::command(chosen), edit::command(chosen)])
        .subcommands(tools::commands(chosen))
        .subcommands([
            run::command(used),
            submit::command(used),
            batch::command(chosen),
            task::command(),
            resume::command(),
            history::command(),
            webhook::command(),
            models::command(),
            simulate::command(),
        ])
        .subcommands(login::commands())
        .subcommands([
            config::command(),
            doctor::command(),
            completions::command(),
            man::command(),
            Command::new(HELP)
                .about("Print this help, or everything about a command")
                .arg(Arg::new("command").value_name("COMMAND").num_args(0..)),
            Command::new(VERSION).about("Print the version"),
        ])
}

/// Whether a command can't work if `config.toml` is damaged.
pub fn needs_settings(command: &str) -> bool {
    const WITHOUT: [&str; 10] = [
        login::LOGIN,
        login::LOGOUT,
        config::NAME,
        doctor::NAME,
        history::NAME,
        webhook::NAME,
        models::NAME,
        simulate::NAME,
        completions::NAME,
        man::NAME,
    ];
    !WITHOUT.contains(&command)
}

/// Executes a command, and returns its exit code.
pub async fn execute(
    context: &Context,
    command: &str,
    matches: &ArgMatches,
) -> Result<u8, Failure> {
    let done = match command {
        simulate::NAME => return simulate::execute(context, matches).await,
        doctor::NAME => return doctor::execute(context).await,
        generate::NAME => generate::execute(context, matches).await,
        edit::NAME => edit::execute(context, matches).await,
        run::NAME => run::execute(context, matches).await,
        submit::NAME => submit::execute(context, matches).await,
        batch::NAME => batch::execute(context, matches).await,
        task::NAME => task::execute(context, matches).await,
        resume::NAME => resume::execute(context, matches).await,
        history::NAME => history::execute(context, matches),
        webhook::NAME => webhook::execute(context, matches).await,
        models::NAME => models::execute(context, matches),
        login::LOGIN => login::login(context).await,
        login::LOGOUT => login::logout(context),
        config::NAME => config::execute(context, matches),
        completions::NAME => completions::execute(context, matches),
        man::NAME => man::execute(context, matches),
        other => match tools::find(other) {
            Some(tool) => tools::execute(context, tool, matches).await,
            None => Err(Failure::usage(format!("unknown command `{other}`"))),
        },
    };
    done.map(|()| Exit::Success.code())
}
