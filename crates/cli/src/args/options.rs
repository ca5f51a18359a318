//! The options that commands share. A few of them are global. Each of the others belongs to certain
//! commands, and no other command accepts it.

use std::{path::PathBuf, time::Duration};

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, ValueHint,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};

use super::completers;
use crate::text::{deadline, parse::size};
use imagekiln::Operation;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Print results, and events and errors to standard error, as JSON, one object per line
    #[arg(long, global = true, hide_short_help = true)]
    pub json: bool,
    /// Show only errors, no progress and no warnings
    #[arg(long, short, global = true, hide_short_help = true)]
    pub quiet: bool,
    /// Log requests and responses, without secrets; repeat for polls and retries
    #[arg(long, short, global = true, hide_short_help = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Use the key and the settings of this profile; KILN_PROFILE does the same
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME")]
    #[arg(add = completers::profiles())]
    pub profile: Option<String>,
}

/// The options of commands that work with the service. Those that a command does not have are not
/// set.
#[derive(Debug, Clone, Args)]
pub struct Shared {
    /// Use a simulator: no key, no network, no cost
    #[arg(
        long,
        long_help = "Use a simulator in this process, which needs no key and no network, and \
                     costs nothing"
    )]
    pub simulate: bool,
    /// How long the command may take, such as 90, 90s, 2m or 1h; a submitted task continues after
    /// that, and a request that was sent has 5 more seconds for its response [default: 10m for each
    /// task]
    #[arg(long, hide_short_help = true, value_name = "DURATION", value_parser = deadline)]
    pub deadline: Option<Duration>,
    /// Also send the key to polling URLs at this host
    #[arg(long, hide_short_help = true, value_name = "HOST", action = ArgAction::Append)]
    pub allow_polling_host: Vec<String>,
    /// Fetch pictures from this host even if its address is private or unencrypted
    #[arg(long, hide_short_help = true, value_name = "HOST", action = ArgAction::Append)]
    pub allow_delivery_host: Vec<String>,
    /// Write a redacted copy of each exchange with the service to DIR
    #[arg(long, hide_short_help = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub record: Option<PathBuf>,
    /// Do not record anything in the history; KILN_NO_HISTORY=1 does the same
    #[arg(long, hide_short_help = true)]
    pub no_history: bool,
}

/// The options that set fields of any model that has them.
#[derive(Debug, Clone, Args)]
pub struct FieldOptions {
    /// The size in pixels, such as 1024x768: sets the fields width and height
    #[arg(long, short, value_name = "WIDTHxHEIGHT", value_parser = size)]
    pub size: Option<[u32; 2]>,
    /// A file that contains the webhook secret; other users can't see it, unlike arguments
    #[arg(long, value_name = "FILE", hide_short_help = true, value_hint = ValueHint::FilePath)]
    pub webhook_secret_file: Option<PathBuf>,
    /// Send photos as viewers show them: turns JPEG, PNG and WebP images that are stored with an
    /// EXIF orientation
    #[arg(long, hide_short_help = true)]
    pub upright: bool,
    /// Accept a mask that is transparent, in color, black everywhere or white everywhere
    #[arg(long, hide_short_help = true)]
    pub any_mask: bool,
}

/// The fields that `--size` sets.
pub const SIDES: [&str; 2] = ["width", "height"];

/// The fields that together decide the size of a picture.
pub const SIZES: [&str; 3] = ["width", "height", "aspect_ratio"];

/// The field that `--webhook-secret-file` sets.
pub const WEBHOOK_SECRET: &str = "webhook_secret";

/// The fields that an option sets.
pub fn fields_of(option: &Arg) -> &'static [&'static str] {
    match option.get_id().as_str() {
        "size" => &SIDES,
        "webhook_secret_file" => &[WEBHOOK_SECRET],
        "any_mask" => &["mask"],
        _ => &[],
    }
}

/// Whether a model has these fields, or may have them because the contract does not list all of its
/// fields.
pub fn may_have(model: &Operation, fields: &[&str]) -> bool {
    !model.all_fields_shown || fields.iter().all(|name| model.field(name).is_some())
}

pub const COUNT: &str = "count";

pub const MOST: usize = 1000;

/// The option `-n`, for commands that save pictures of new tasks.
pub fn count() -> Arg {
    let parse = |text: &str| -> Result<u16, String> {
        let count = text.parse().ok().filter(|count| (1..=MOST).contains(&usize::from(*count)));
        count.ok_or_else(|| format!("nothing was sent; give a number of pictures from 1 to {MOST}"))
    };
    Arg::new(COUNT)
        .long(COUNT)
        .short('n')
        .value_name("N")
        // Otherwise the parser would take -1 for an unknown flag.
        .allow_negative_numbers(true)
        .value_parser(parse)
        // With a default, a value is missing only in the matches of commands that do not have the
        // option.
        .default_value("1")
        .hide_default_value(true)
        .help("How many pictures to make, each with a random seed [default: 1]")
}

const SIMULATE: &str = "simulate";
const DEADLINE: &str = "deadline";
const POLLING_HOST: &str = "allow_polling_host";
const DELIVERY_HOST: &str = "allow_delivery_host";
const RECORD: &str = "record";
const NO_HISTORY: &str = "no_history";

/// The shared options of commands that submit tasks, wait for them and save their pictures.
pub const MAKING: &[&str] = &[SIMULATE, DEADLINE, POLLING_HOST, DELIVERY_HOST, RECORD, NO_HISTORY];
/// The shared options of `kiln task submit`.
pub const SUBMITTING: &[&str] = &[SIMULATE, DEADLINE, RECORD, NO_HISTORY];
/// The shared options of commands that wait for earlier tasks and save their pictures.
pub const RESUMING: &[&str] = &[DEADLINE, POLLING_HOST, DELIVERY_HOST, RECORD];
/// The shared options of commands that poll an earlier task, or a task whose id is given.
pub const POLLING: &[&str] = &[DEADLINE, POLLING_HOST, RECORD];
pub const RESOLVING: &[&str] = &[RECORD];
/// The shared options of `kiln batch run`, which has a ledger instead of the history, and its own
/// deadline for each task.
pub const RUNNING: &[&str] = &[SIMULATE, POLLING_HOST, DELIVERY_HOST, RECORD];

/// The shared options of `kiln mcp`, which takes its other settings from the profile.
pub const SERVING: &[&str] = &[SIMULATE];

/// The shared options of `kiln batch advance`.
pub const ADVANCING: &[&str] = &[POLLING_HOST, DELIVERY_HOST, RECORD];

/// The position of shared options in help, which is after the options of the command itself.
pub const AFTER_OWN: usize = 500;

pub fn of<O: Args>() -> Vec<Arg> {
    O::augment_args(Command::new("options")).get_arguments().cloned().collect()
}

/// Returns the shared options with these ids, for a command that uses them.
pub fn shared(ids: &[&str]) -> Vec<Arg> {
    let args = of::<Shared>().into_iter().filter(|arg| ids.contains(&arg.get_id().as_str()));
    (AFTER_OWN..).zip(args).map(|(order, arg)| arg.display_order(order)).collect()
}

/// Prepares a command that does nothing without one of its subcommands.
pub fn group(command: Command) -> Command {
    command.subcommand_required(true).arg_required_else_help(true).disable_help_subcommand(true)
}

/// Adds the global options to the program. Also adds the shared options, which help does not show
/// there, so that the user may write them before the name of a command. [`refuse_unused`] refuses
/// those that the command does not use.
pub fn of_program(command: Command) -> Command {
    let hidden = of::<Shared>().into_iter().map(|arg| arg.global(true).hide(true));
    Globals::augment_args(command).args(hidden)
}

/// Refuses a shared option that the given command does not use. Otherwise the command would
/// silently ignore the option. `program` is the definition with which the command line was parsed.
pub fn refuse_unused(program: &Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let (mut command, mut matches) = (program, matches);
    let mut path = vec![program.get_name()];
    while let Some((name, inner)) = matches.subcommand() {
        let Some(next) = command.find_subcommand(name) else { break };
        path.push(next.get_name());
        (command, matches) = (next, inner);
    }
    let given =
        |arg: &Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    for shared in of::<Shared>().iter().filter(|arg| given(arg)) {
        let is_hidden = |arg: &Arg| arg.get_id() == shared.get_id() && arg.is_hide_set();
        if command.get_arguments().any(is_hidden) {
            let flag = format!("--{}", shared.get_long().unwrap_or_default());
            let mut error = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
            error.insert(ContextKind::InvalidArg, ContextValue::String(flag.clone()));
            let tip = format!("'{}' does not use it; leave it out", path.join(" "));
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            return Err(error);
        }
    }
    Ok(())
}
