//! The commands of `kiln`, one per file: the arguments of each, and what it does. This file puts
//! the grammar of the program together. The commands define their own parts of it; the flags of the
//! models are built from the contract.

pub mod again;
#[cfg(feature = "batch")]
pub mod batch;
#[cfg(not(feature = "batch"))]
#[path = "without_batch.rs"]
pub mod batch;
pub mod config;
pub mod doctor;
pub mod edit;
#[cfg(feature = "gallery")]
pub mod gallery;
#[cfg(not(feature = "gallery"))]
#[path = "without_gallery.rs"]
pub mod gallery;
pub mod generate;
pub mod history;
pub mod install;
pub mod login;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "without_mcp.rs"]
pub mod mcp;
pub mod models;
pub mod preset;
pub mod resume;
pub mod run;
pub mod setup;
pub mod show;
pub mod simulate;
pub mod spending;
pub mod task;
pub mod tools;
pub mod webhook;
#[cfg(not(all(feature = "batch", feature = "gallery", feature = "mcp")))]
mod without;

use clap::{Arg, ArgMatches, Command, FromArgMatches as _, Subcommand};
use serde_json::json;

use crate::{
    args::{model, options},
    context::Context,
    failure::{
        Exit, Failure,
        exit::{self, KINDS},
    },
};
use imagekiln::Operation;

/// Commands that mean the same as flags: `usage` rewrites them as `--help` and `--version`.
pub const HELP: &str = "help";
pub const VERSION: &str = "version";

/// The commands that the help of the program lists, by group. Others are hidden.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Make", &[generate::NAME, edit::NAME, tools::NAME, run::NAME, models::NAME]),
    (
        "Follow up",
        &[
            history::NAME,
            "show",
            gallery::NAME,
            again::NAME,
            resume::NAME,
            task::NAME,
            spending::NAME,
        ],
    ),
    ("Many", &[batch::NAME, mcp::NAME]),
    ("Set up", &["setup", "config", preset::NAME, doctor::NAME]),
    ("Develop", &[simulate::NAME, webhook::NAME]),
];

const TEMPLATE: &str = "{about}{after-help}";

const MORE: &str = "`kiln COMMAND -h` lists the options of a command; `kiln --help` has examples.";

const EXAMPLES: &str = "\
Examples:
  kiln generate \"a red fox\" --simulate -o fox.png
  kiln edit \"give the cat this hat\" cat.png hat.png -o cat-with-hat.png

`kiln help COMMAND` says everything about a command, `kiln help config` lists the settings and \
their variables, and `kiln exit-codes` what each exit code means.";

/// The commands whose options do not depend on a model. They work even if `config.toml` is damaged.
#[derive(Subcommand)]
enum Plain {
    Models(models::Options),
    History(history::Options),
    Show(show::Options),
    Spending(spending::Options),
    Gallery(gallery::Options),
    /// Store the URL and the key, and make a first picture
    #[command(after_help = setup::STEPS)]
    Setup,
    Config(config::Options),
    Preset(preset::Options),
    /// Check the settings, the connection, the key and the clock
    #[command(after_help = doctor::COST)]
    Doctor,
    Simulate(Box<simulate::Options>),
    /// Receive webhooks, or verify a recorded one
    #[command(subcommand, disable_help_subcommand = true)]
    Webhook(webhook::Action),
    /// Print the exit codes and what they mean
    #[command(hide = true, after_long_help = kinds())]
    ExitCodes,
}

/// Returns the grammar of the program. `chosen` is the model of `generate`, `edit`, `batch` and the
/// tools. `used` says which models and tools need their flags.
pub fn grammar(chosen: &'static Operation, used: model::Used<'_>) -> Command {
    let program = options::group(options::of_program(Command::new("kiln")))
        .version(env!("CARGO_PKG_VERSION"))
        .subcommands([
            tools::offering_models(generate::command(chosen)),
            tools::offering_models(edit::command(chosen)),
            tools::command(chosen, used),
            run::command(used),
            again::command(None),
            resume::command(),
            task::command(used),
            batch::command(chosen),
            mcp::command(),
        ])
        .subcommand(
            Command::new(HELP)
                .about("Print this help, or everything about a command")
                .arg(Arg::new("command").value_name("COMMAND").num_args(0..))
                .hide(true),
        )
        .subcommand(Command::new(VERSION).about("Print the version").hide(true));
    let program = Plain::augment_subcommands(program);
    let list = listed(&program);
    let options = options(&program);
    program
        // Replaces the description that clap took from the doc comments of the options.
        .about("Generate and edit pictures with an asynchronous image generation service")
        .long_about(None)
        .after_help(format!("{list}{MORE}"))
        .after_long_help(format!("{list}\n{options}\n\n{EXAMPLES}"))
        .help_template(TEMPLATE)
}

/// Returns the list of the commands in their groups, which fits on one screen.
fn listed(program: &Command) -> String {
    let styles = program.get_styles();
    let (heading, word) = (*styles.get_header(), *styles.get_literal());
    let about = |name: &str| program.find_subcommand(name).and_then(Command::get_about);
    let mut text = String::new();
    for (group, names) in GROUPS {
        for (at, name) in names.iter().enumerate() {
            let group = if at == 0 { group } else { "" };
            let spaces = " ".repeat(11_usize.saturating_sub(group.len()));
            let about = about(name).map(ToString::to_string).unwrap_or_default();
            text += &format!(
                "{heading}{group}{heading:#}{spaces}{word}{name}{word:#}{:<1$}{about}\n",
                "",
                10_usize.saturating_sub(name.len())
            );
        }
    }
    text
}

fn options(program: &Command) -> String {
    let styles = program.get_styles();
    let (heading, word) = (*styles.get_header(), *styles.get_literal());
    let options = ["--help", "--json", "--quiet", "--verbose", "--profile NAME"];
    let options = options.map(|option| format!("{word}{option}{word:#}")).join(" ");
    format!("{heading}Options of every command:{heading:#} {options}")
}

/// Explains the columns of `kiln exit-codes`, and the kinds of errors with `--json`.
fn kinds() -> String {
    let line = |(kind, meaning): &(&str, &str)| format!("\n  {kind:<17}{meaning}");
    format!(
        "RETRY says whether the same command may succeed later although nothing was changed. A \
         command of a batch may be run again after every code: it charges nothing twice. CHARGED \
         says whether the command has submitted something that is charged.\n\n\
         With --json, an error has one of these kinds:{}",
        KINDS.iter().map(line).collect::<String>()
    )
}

/// Whether a command can't work if `config.toml` is damaged.
pub fn needs_settings(command: &str) -> bool {
    !Plain::has_subcommand(command)
}

/// Executes a command, and returns its exit code. `program` has the matches of the whole command
/// line.
pub async fn execute(context: &Context, program: &ArgMatches) -> Result<u8, Failure> {
    let (command, matches) =
        program.subcommand().ok_or_else(|| Failure::usage("no command given"))?;
    let done = match command {
        plain if Plain::has_subcommand(plain) => {
            return execute_plain(context, Plain::from_arg_matches(program)?).await;
        }
        generate::NAME => generate::execute(context, matches).await,
        edit::NAME => edit::execute(context, matches).await,
        run::NAME => run::execute(context, matches).await,
        batch::NAME => batch::execute(context, matches).await,
        mcp::NAME => mcp::execute(context, matches).await,
        task::NAME => task::execute(context, matches).await,
        resume::NAME => resume::execute(context, matches).await,
        again::NAME => again::execute(context, matches).await,
        tools::NAME => tools::execute(context, matches).await,
        other => return Err(Failure::usage(format!("unknown command `{other}`"))),
    };
    done.map(|()| Exit::Success.into())
}

async fn execute_plain(context: &Context, command: Plain) -> Result<u8, Failure> {
    let done = match command {
        Plain::Simulate(options) => return simulate::run(context, *options).await,
        Plain::Doctor => return doctor::run(context).await,
        Plain::Setup => return setup::run(context).await,
        Plain::Models(options) => models::run(context, &options),
        Plain::History(options) => history::run(context, &options),
        Plain::Spending(options) => spending::run(context, options).await,
        Plain::Show(options) => show::run(context, options).await,
        Plain::Gallery(options) => gallery::run(context, options).await,
        Plain::Preset(options) => preset::run(context, options),
        Plain::Config(options) => config::run(context, options).await,
        Plain::Webhook(action) => webhook::run(context, action).await,
        Plain::ExitCodes => {
            let people = || context.process().stdout.table(&exit::table());
            context.output.result(people, || json!(exit::ROWS))
        }
    };
    done.map(|()| Exit::Success.into())
}
