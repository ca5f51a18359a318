//! The commands, one per file: their arguments and what they do. Here is the grammar of all. Its
//! static part is defined in the commands; the flags of the models are built from the contract.

pub mod again;
#[cfg(feature = "batch")]
pub mod batch;
#[cfg(not(feature = "batch"))]
#[path = "without_batch.rs"]
pub mod batch;
pub mod completions;
pub mod config;
pub mod doctor;
pub mod edit;
pub mod generate;
pub mod history;
pub mod login;
pub mod man;
pub mod models;
pub mod profiles;
pub mod resume;
pub mod run;
pub mod setup;
pub mod show;
pub mod simulate;
pub mod task;
pub mod tools;
pub mod webhook;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, builder::StyledStr};

use crate::{
    args::{model, options},
    context::Context,
    failure::{
        Failure,
        exit::{self, Exit, KINDS},
    },
};
use imagekiln::Operation;

/// The commands that are spelled as flags, too.
pub const HELP: &str = "help";
pub const VERSION: &str = "version";
/// Prints the table of exit codes.
const EXIT_CODES: &str = "exit-codes";

/// The commands that the help of the program lists. The others are short names of subcommands, such
/// as `kiln login` for `kiln config login`, and need no place in it.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Make", &[generate::NAME, edit::NAME, tools::NAME, run::NAME, models::NAME]),
    ("Follow up", &[history::NAME, show::NAME, again::NAME, resume::NAME, task::NAME]),
    ("Many", &[batch::NAME]),
    ("Set up", &[setup::NAME, config::NAME, doctor::NAME]),
    ("Develop", &[simulate::NAME, webhook::NAME]),
];

const TEMPLATE: &str = "{about}\n\n{usage-heading} {usage}{after-help}";

const EXAMPLES: &str = "\
Examples:
  kiln generate \"a red fox\" --simulate -o fox.png
  kiln edit \"give the cat this hat\" cat.png hat.png -o cat-with-hat.png

`kiln help COMMAND` says everything about a command, `kiln help config` lists the
settings and their variables, and `kiln exit-codes` what each exit code means.";

/// The whole grammar. `chosen` is the model of `generate`, `edit` and the tools. `used` says which
/// models and tools need their flags.
pub fn grammar(chosen: &'static Operation, used: model::Used<'_>) -> Command {
    let short = |command: Command| command.hide(true);
    let program = options::of_program(Command::new("kiln"))
        .version(env!("CARGO_PKG_VERSION"))
        // Adding the options has set a description.
        .about("Generate and edit pictures with an asynchronous image generation service")
        .long_about(None)
        .max_term_width(120)
        .arg_required_else_help(true)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands([
            generate::command(chosen),
            edit::command(chosen),
            tools::command(chosen, used),
            run::command(used),
            described::<models::Options>(models::NAME),
            described::<history::Options>(history::NAME),
            described::<show::Options>(show::NAME),
            again::command(None),
            resume::command(),
            task::command(used),
            batch::command(chosen),
            described::<setup::Options>(setup::NAME),
            described::<config::Options>(config::NAME),
            described::<doctor::Options>(doctor::NAME),
            described::<simulate::Options>(simulate::NAME),
            described::<webhook::Options>(webhook::NAME),
        ])
        .subcommands(tools::commands(chosen, used).map(short))
        .subcommand(short(task::submit::command(used)))
        .subcommands(
            [
                described::<show::Options>(show::OPEN)
                    .about("Open a saved picture with the desktop's program for it"),
                described::<login::Login>(login::LOGIN),
                described::<login::Logout>(login::LOGOUT),
                described::<profiles::Options>(profiles::NAME),
                described::<completions::Options>(completions::NAME),
                described::<man::Options>(man::NAME),
            ]
            .map(short),
        )
        .subcommands(
            [
                Command::new(EXIT_CODES)
                    .about("Print the exit codes and what they mean")
                    .after_help(kinds()),
                Command::new(HELP)
                    .about("Print this help, or everything about a command")
                    .arg(Arg::new("command").value_name("COMMAND").num_args(0..)),
                Command::new(VERSION).about("Print the version"),
            ]
            .map(short),
        );
    let text = listed(&program);
    program.after_help(text).help_template(TEMPLATE)
}

/// The commands in their groups, and the global options, on one screen.
fn listed(program: &Command) -> StyledStr {
    let styles = program.get_styles();
    let (heading, word) = (*styles.get_header(), *styles.get_literal());
    let about = |name: &str| program.find_subcommand(name).and_then(Command::get_about);
    let mut text = String::new();
    for (group, names) in GROUPS {
        text += &format!("{heading}{group}:{heading:#}\n");
        for name in names {
            let about = about(name).map(ToString::to_string).unwrap_or_default();
            text += &format!("  {word}{name:<10}{word:#}{about}\n");
        }
    }
    text += &format!(
        "\n{heading}Options of every command:{heading:#} {word}--help  --json  --quiet  --verbose  \
         --profile NAME{word:#}\n\n{EXAMPLES}"
    );
    text.into()
}

/// What the columns of `kiln exit-codes` mean, and the kinds of errors with `--json`.
fn kinds() -> String {
    let line = |(kind, meaning): &(&str, &str)| format!("\n  {kind:<17}{meaning}");
    format!(
        "RETRY says whether a script may run the same command again: it may succeed later, and\n\
         charges nothing twice. CHARGED says whether the command has submitted something that\n\
         is charged.\n\n\
         With --json, an error has one of these kinds:{}",
        KINDS.iter().map(line).collect::<String>()
    )
}

/// A command with the options of a struct.
fn described<O: Args>(name: &'static str) -> Command {
    O::augment_args(Command::new(name))
}

/// The options of a command.
fn parsed<O: FromArgMatches>(matches: &ArgMatches) -> Result<O, Failure> {
    Ok(O::from_arg_matches(matches)?)
}

/// Whether a command can't work if `config.toml` is damaged.
pub fn needs_settings(command: &str) -> bool {
    const WITHOUT: [&str; 15] = [
        EXIT_CODES,
        login::LOGIN,
        login::LOGOUT,
        setup::NAME,
        config::NAME,
        profiles::NAME,
        doctor::NAME,
        history::NAME,
        show::NAME,
        show::OPEN,
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
        simulate::NAME => return simulate::run(context, parsed(matches)?).await,
        doctor::NAME => return doctor::run(context, doctor::Options {}).await,
        setup::NAME => return setup::run(context, setup::Options {}).await,
        generate::NAME => generate::execute(context, matches).await,
        edit::NAME => edit::execute(context, matches).await,
        run::NAME => run::execute(context, matches).await,
        task::submit::NAME => task::submit::execute(context, matches).await,
        batch::NAME => batch::execute(context, matches).await,
        task::NAME => task::execute(context, matches).await,
        resume::NAME => resume::execute(context, matches).await,
        again::NAME => again::execute(context, matches).await,
        show::NAME => show::run(context, parsed(matches)?).await,
        show::OPEN => show::open(context, parsed(matches)?).await,
        history::NAME => history::run(context, &parsed(matches)?),
        webhook::NAME => webhook::run(context, parsed(matches)?).await,
        models::NAME => models::run(context, &parsed(matches)?),
        login::LOGIN => login::login(context, login::Login {}).await,
        login::LOGOUT => login::logout(context, login::Logout {}),
        profiles::NAME => profiles::run(context, profiles::Options {}),
        config::NAME => config::run(context, parsed(matches)?).await,
        completions::NAME => completions::run(context, parsed(matches)?),
        man::NAME => man::run(context, parsed(matches)?),
        EXIT_CODES => exit_codes(context),
        tool => tools::execute(context, tool, matches).await,
    };
    done.map(|()| Exit::Success.code())
}

fn exit_codes(context: &Context) -> Result<(), Failure> {
    context.output.result(|| context.process().stdout.table(&exit::table()), exit::for_programs)
}
